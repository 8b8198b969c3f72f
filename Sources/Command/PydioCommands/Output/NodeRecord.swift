import CommandKit
import Foundation
import PydioSDK

/// A file or folder of a workspace, as a line.
struct NodeRecord: ListRecord {
    let workspaceID: String
    /// The path from the root of the workspace.
    let path: String
    /// The size in bytes; `nil` for a folder.
    let size: Int64?
    let modified: Date?
    var isRecycleBin = false
    /// The owner of the lock: `you` or `others`; `nil` if there is none.
    var lockedBy: String?
    /// The displayed part of the path.
    var shownName: String

    init(_ node: NodeResponse, in workspace: PydioWorkspace, shownAs name: String) {
        (workspaceID, path, modified) = (workspace.id, node.fullPath, node.mTime)
        size = node.isLeaf ? node.size : nil
        isRecycleBin = node.isRecycleBin
        lockedBy = node.isLocked ? node.isLockedByUser ? "you" : "others" : nil
        shownName = name
    }

    init(file path: String, size: Int64, modified: Date?, in workspace: PydioWorkspace) {
        (workspaceID, self.path, self.size, self.modified) = (workspace.id, path, size, modified)
        shownName = path
    }

    var json: String {
        var line = JSONLine(type: "node")
        line.add("workspace_id", workspaceID)
        line.add("path", path)
        line.add("kind", size == nil ? "folder" : "file")
        line.add("size", size.map { Int($0) })
        line.add("modified", modified.map(JSONLine.text))
        line.add("locked_by", lockedBy)
        if isRecycleBin { line.add("recycle_bin", json: "true") }
        return line.text
    }

    /// Returns columns such as `2026-01-31 12:00          42  plan.txt`, with `-` as the size of `docs/`.
    func columns(style: TextStyle) -> [TerminalText] {
        let size = size.map(String.init) ?? "-"
        let date = modified.map { Record.minute($0) } ?? String(repeating: " ", count: 16)
        let column = String(repeating: " ", count: max(12 - size.count, 0)) + size
        let name = self.size == nil ? style.channel(shownName + "/") : style.event(shownName)
        return ["\(style.dim(date))\(column)", name]
    }
}
