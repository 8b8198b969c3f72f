import CommandKit
import Foundation
import PydioSDK

/// A node's attributes in the server's file system, as a line.
struct StatRecord: ListRecord {
    let stat: PydioNodeStat
    /// The path from the root of the workspace.
    let path: String
    let workspace: PydioWorkspace

    init(_ stat: PydioNodeStat, of path: String, in workspace: PydioWorkspace) {
        (self.stat, self.path, self.workspace) = (stat, path, workspace)
    }

    /// The permissions in octal digits, without the file type.
    private var permissions: String? {
        stat.mode.map { mode in
            let digits = String(mode & 0o7777, radix: 8)
            return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
        }
    }

    private var md5: String? { stat.isFolder ? nil : stat.contentHash }

    var json: String {
        var line = JSONLine(type: "stat")
        line.add("workspace_id", workspace.id)
        line.add("path", path)
        line.add("kind", stat.isFolder ? "folder" : "file")
        if !stat.isFolder { line.add("size", Int(stat.size)) }
        line.add("modified", stat.mTime.map(JSONLine.text))
        line.add("permissions", permissions)
        line.add("md5", md5)
        return line.text
    }

    /// Returns columns such as `2026-01-31 12:00  42  0644  5d41402abc4b2a76b9719d911017c592  plans:/a.txt`.
    func columns(style: TextStyle) -> [TerminalText] {
        let parts: [TerminalText?] = [
            stat.mTime.map { style.dim(Record.minute($0)) }, stat.isFolder ? "-" : TerminalText(String(stat.size)),
            permissions.map { TerminalText($0) }, md5.map { TerminalText($0) },
            style.event(workspace.remote(path) + (stat.isFolder && path != "/" ? "/" : "")),
        ]
        return parts.map { $0 ?? "" }
    }
}
