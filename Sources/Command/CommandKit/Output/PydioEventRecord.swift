import Foundation
package import PydioSDK

/// An event of a workspace, as a line.
package struct PydioEventRecord: Sendable {
    package let channel: String
    package let name: String
    /// The event's JSON text.
    package let data: String
    package let workspaceID: String
    /// The workspace's name, for display.
    package let workspace: String
    /// The path of the node; its former path if it was deleted.
    package let path: String?
    /// The original path of a moved node.
    package let originalPath: String?

    package init(_ event: RealtimeEvent, workspaceID: String, workspace: String) {
        (channel, name, data) = (event.channelName ?? "", event.eventName, event.data ?? "{}")
        (self.workspaceID, self.workspace) = (workspaceID, workspace)
        let fields = Self.fields(of: event)
        (path, originalPath) = (fields["path"] as? String, fields["original_path"] as? String)
    }

    package static func fields(of event: RealtimeEvent) -> [String: Any] {
        let object = event.data.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) }
        return object as? [String: Any] ?? [:]
    }

    package func add(to line: inout JSONLine) {
        line.add("channel", channel)
        line.add("event", name)
        line.add("data", data)
        line.add("workspace_id", workspaceID)
        line.add("path", path)
        line.add("original_path", originalPath)
    }

    /// The workspace, the event and the path: `/a.txt`, or `/a.txt -> /b.txt` for a move.
    package var columns: (subject: String, what: String, detail: String) {
        let place = originalPath.flatMap { old in path.map { "\(old) -> \($0)" } } ?? path
        return (workspace, name, place ?? (data == "{}" ? "" : data))
    }
}
