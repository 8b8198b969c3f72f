import CommandKit
import PydioSDK

/// The recycle bin of a workspace.
struct RecycleBin: Sendable {
    let workspace: PydioWorkspace
    let path: String

    private init(_ workspace: PydioWorkspace, at path: String) {
        (self.workspace, self.path) = (workspace, path)
    }

    static func of(_ workspace: PydioWorkspace) async throws -> RecycleBin {
        let top = try await RemoteChild.all(of: "/", in: workspace)
        guard let bin = top.first(where: \.response.isRecycleBin) else {
            throw CommandFailure(.badData, "the workspace \(workspace.name) has no recycle bin")
        }
        return RecycleBin(workspace, at: bin.path)
    }

    /// Returns the deleted items, each as a whole.
    func entries() async throws -> [RemoteChild] {
        try await RemoteChild.all(of: path, in: workspace)
    }

    /// Returns the item at a path in the bin, or the one with the original name of the path's last part.
    func entry(_ remote: RemotePath) async throws -> RemoteChild {
        guard remote.path != path else {
            throw CommandFailure(.badData, "\(remote) is the recycle bin itself: name something in it")
        }
        let entries = try await entries()
        guard remote.path.utf8.starts(with: (path + "/").utf8) else { return try called(remote, among: entries) }
        guard let name = NodeName.child(remote.path, of: path) else {
            let whole = remote.ancestors.dropFirst().first ?? remote
            throw CommandFailure(.badData, "\(remote) was deleted with the folder that it is in: restore \(whole)")
        }
        guard let entry = entries.first(where: { $0.name == name }) else {
            throw CommandFailure(.badData, "there is no \(remote)")
        }
        return entry
    }

    /// Returns the only item with this name. A second node with the same name gets a number in the bin; the choice
    /// between them is never guessed.
    private func called(_ remote: RemotePath, among entries: [RemoteChild]) throws(CommandFailure) -> RemoteChild {
        let found = entries.filter { $0.name == remote.name || Self.isNumbered($0.name, of: remote.name) }
        if found.count == 1, let entry = found.first, entry.name == remote.name { return entry }
        let what = "\(remote): nothing in the recycle bin is called “\(remote.name)”"
        guard !found.isEmpty else { throw CommandFailure(.badData, what) }
        let paths = found.prefix(5).map { workspace.remote($0.path) }.joined(separator: " or ")
        throw CommandFailure(
            .badData,
            found.contains { $0.name == remote.name }
                ? "\(remote): \(found.count) in the recycle bin may have been called “\(remote.name)”: give \(paths)"
                : "\(what); it may be \(paths)")
    }

    /// Returns whether a name is another one with a number before its extension: `plan-1.txt` for `plan.txt`.
    static func isNumbered(_ name: String, of original: String) -> Bool {
        let dot = original.dropFirst().lastIndex(of: ".") ?? original.endIndex
        let (stem, suffix) = (original[..<dot] + "-", original[dot...])
        guard name.hasPrefix(stem), name.hasSuffix(suffix), name.count > stem.count + suffix.count else { return false }
        return name.dropFirst(stem.count).dropLast(suffix.count).allSatisfy { ("0"..."9").contains($0) }
    }
}
