import CommandKit
import PydioSDK

/// A user's action in a workspace, as a line.
struct ActivityRecord: ListRecord {
    let activity: PydioActivity
    let workspace: PydioWorkspace

    var json: String {
        var line = JSONLine(type: "activity")
        line.add("workspace_id", activity.workspaceId ?? workspace.id)
        line.add("path", activity.path)
        line.add("author", activity.author)
        line.add("summary", activity.summary)
        line.add("date", activity.date.map(JSONLine.text))
        return line.text
    }

    /// Returns columns such as `2026-01-31 12:00  ada  plan.pdf was modified  /docs/plan.pdf`.
    func columns(style: TextStyle) -> [TerminalText] {
        [
            activity.date.map { style.dim(Record.minute($0)) } ?? "", style.channel(activity.author ?? ""),
            TerminalText(activity.summary ?? ""), style.event(activity.path),
        ]
    }
}
