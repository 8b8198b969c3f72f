import CommandKit
import PydioSDK

/// A workspace of a Pydio server, as a line.
struct WorkspaceRecord: ListRecord {
    let workspace: WorkspaceResponse

    var json: String {
        var line = JSONLine(type: "workspace")
        line.add("workspace_id", workspace.workspaceId)
        line.add("slug", workspace.slug)
        line.add("label", workspace.label)
        line.add("description", workspace.description)
        line.add("access_type", workspace.accessType)
        line.add("owner", workspace.owner)
        return line.text
    }

    /// Returns columns such as `Plans  plans  0  Drawings & notes`.
    func columns(style: TextStyle) -> [TerminalText] {
        let parts: [TerminalText?] = [
            style.event(workspace.label ?? workspace.workspaceId), workspace.slug.map(style.channel),
            TerminalText(workspace.workspaceId), workspace.description.map { TerminalText($0) },
            workspace.owner.map { "shared by \($0)" },
        ]
        return parts.map { $0 ?? "" }
    }
}
