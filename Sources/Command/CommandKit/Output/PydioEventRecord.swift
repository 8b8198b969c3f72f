import Foundation
import PydioSDK

/// What happened in a workspace, as a line.
struct PydioEventRecord: Sendable {
    let channel: String
    let name: String
    /// The event's JSON text.
    let data: String
    let workspaceID: String
    /// For people.
    let workspace: String
    /// Where the node is; of a deleted one, where it was.
    let path: String?
    /// Where a moved node was.
    let originalPath: String?

    init(_ event: RealtimeEvent, in workspace: PydioWorkspace) {
        (channel, name, data) = (event.channelName ?? "", event.eventName, event.data ?? "{}")
        (workspaceID, self.workspace) = (workspace.id, workspace.name)
        let fields = Self.fields(of: event)
        (path, originalPath) = (fields["path"] as? String, fields["original_path"] as? String)
    }

    static func fields(of event: RealtimeEvent) -> [String: Any] {
        let object = event.data.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) }
        return object as? [String: Any] ?? [:]
    }

    func add(to line: inout JSONLine) {
        line.add("channel", channel)
        line.add("event", name)
        line.add("data", data)
        line.add("workspace_id", workspaceID)
        line.add("path", path)
        line.add("original_path", originalPath)
    }

    /// Workspace, event, and where it happened: `/a.txt`, of a move `/a.txt -> /b.txt`.
    var columns: (subject: String, what: String, detail: String) {
        let place = originalPath.flatMap { old in path.map { "\(old) -> \($0)" } } ?? path
        return (workspace, name, place ?? (data == "{}" ? "" : data))
    }
}
