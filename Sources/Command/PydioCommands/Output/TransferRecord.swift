import CommandKit

/// An operation on a file or folder of a workspace, as a line.
struct TransferRecord {
    enum Kind: String {
        case downloaded, uploaded, created, moved, copied, removed, restored, unshared, bookmarked, unbookmarked
        case compressed, extracted, locked, unlocked
        case permitted = "chmod"
    }

    let kind: Kind
    let workspaceID: String
    /// The current path, from the root of the workspace.
    let path: String
    /// The former path.
    var from: String?
    /// The former workspace; `nil` if it is the same.
    var fromWorkspaceID: String?
    /// The local file.
    var file: String?
    var size: Int64?

    var json: String {
        var line = JSONLine(type: kind.rawValue)
        line.add("workspace_id", workspaceID)
        line.add("path", path)
        line.add("from", from)
        line.add("from_workspace_id", fromWorkspaceID)
        line.add("file", file)
        line.add("size", size.map { Int($0) })
        return line.text
    }
}
