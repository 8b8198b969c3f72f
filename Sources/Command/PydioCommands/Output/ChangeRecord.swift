import CommandKit
import Foundation
import PydioSDK

/// An entry of a server's change log, as a line.
struct ChangeRecord: ListRecord {
    let change: PydioLoggedChange
    let workspaceID: String

    /// The name, as for events of workspaces.
    private var what: String {
        switch change.kind {
        case .create: "created"
        case .delete: "deleted"
        case .path: "moved"
        case .content: "updated"
        }
    }

    /// The path; the former one if the node is gone.
    private var path: String { change.target ?? change.source ?? "" }

    private var originalPath: String? { change.target != change.source && change.target != nil ? change.source : nil }

    var json: String {
        var line = JSONLine(type: "change")
        line.add("workspace_id", workspaceID)
        line.add("sequence", Int(change.sequence))
        line.add("change", what)
        line.add("path", path)
        line.add("original_path", originalPath)
        if let node = change.node {
            line.add("kind", node.isFolder ? "folder" : "file")
            if !node.isFolder { line.add("size", node.size.map { Int($0) }) }
            line.add("md5", node.md5)
            line.add("modified", node.mTime.map(JSONLine.text))
        }
        return line.text
    }

    /// Returns columns such as `44  moved  /a.txt -> /b.txt`.
    func columns(style: TextStyle) -> [TerminalText] {
        let place = originalPath.map { "\($0) -> \(path)" } ?? path
        return [style.dim(String(change.sequence)), style.event(what), TerminalText(place)]
    }

    /// Returns the line after the last entry, with the position to continue from.
    static func end(of log: PydioChangesResponse, workspaceID: String) -> String {
        var line = JSONLine(type: "end")
        line.add("workspace_id", workspaceID)
        line.add("last_sequence", Int(log.lastSequence))
        if log.isReset { line.add("reset", json: "true") }
        return line.text
    }
}
