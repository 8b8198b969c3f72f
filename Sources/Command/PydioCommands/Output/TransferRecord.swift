import CommandKit

/// What has been done to a file or folder of a workspace, as a line.
struct TransferRecord {
    enum Kind: String {
        case downloaded, uploaded, created, moved, copied, removed, restored, unshared, bookmarked, unbookmarked
        case compressed, extracted, locked, unlocked
        case permitted = "chmod"
    }

    let kind: Kind
    let workspaceID: String
    /// From the top of the workspace; where it is by then.
    let path: String
    /// Where it was.
    var from: String?
    /// Nil: in the same workspace.
    var fromWorkspaceID: String?
    /// On this side.
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
