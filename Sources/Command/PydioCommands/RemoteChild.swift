import CommandKit
import PydioSDK

/// An entry of a folder, checked: its path is that of the folder with one name more, which leads nowhere else.
struct RemoteChild {
    /// Folders in each other, more than anybody makes.
    private static let maximumDepth = 200

    let response: NodeResponse
    /// The last part of the path. What servers show may be another.
    let name: String

    var path: String { response.fullPath }

    /// Whether what is in it is listed with the folder that it is in.
    var isOpened: Bool { !response.isLeaf && !response.isRecycleBin }

    /// - Returns: Nil if the server is not to be trusted with it.
    init?(_ response: NodeResponse, in folder: String) {
        guard let name = NodeName.child(response.fullPath, of: folder) else { return nil }
        (self.response, self.name) = (response, name)
    }

    /// What is in a folder.
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
