import CommandKit
import PydioSDK

/// A validated entry of a folder: its path is that of the folder plus one safe name.
struct RemoteChild {
    /// The maximum nesting depth of folders.
    private static let maximumDepth = 200

    let response: NodeResponse
    /// The last part of the path. Servers may display another name.
    let name: String

    var path: String { response.fullPath }

    /// Whether to list its contents together with its folder.
    var isOpened: Bool { !response.isLeaf && !response.isRecycleBin }

    /// - Returns: `nil` if the server's entry is not trustworthy.
    init?(_ response: NodeResponse, in folder: String) {
        guard let name = NodeName.child(response.fullPath, of: folder) else { return nil }
        (self.response, self.name) = (response, name)
    }

    /// Returns the contents of a folder.
    static func all(of folder: String, in workspace: PydioWorkspace) async throws -> [RemoteChild] {
        guard folder.count(where: { $0 == "/" }) <= maximumDepth else {
            throw CommandFailure(.badData, "folders are nested more than \(maximumDepth) deep: \(folder)")
        }
        return try await workspace.children(of: folder).map { response in
            guard let child = RemoteChild(response, in: folder) else {
                throw CommandFailure(
                    .unavailable,
                    "the server lists “\(response.fullPath.prefix(200))” in \(workspace.remote(folder)), where it cannot be"
                )
            }
            return child
        }
    }
}
