import PydioSDK

/// A workspace of a Pydio server, as a line.
struct WorkspaceRecord {
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

    /// `Plans  plans  0  Drawings & notes`
    func text(style: TextStyle) -> String {
        let parts = [
            style.event(workspace.label ?? workspace.workspaceId), workspace.slug.map(style.channel),
            style.printable(workspace.workspaceId), workspace.description.map(style.printable),
            workspace.owner.map { "shared by \(style.printable($0))" },
        ]
        return parts.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    func write(asJSON: Bool) -> Bool { StandardOutput.write(asJSON ? json : text(style: .standardOutput)) }
}
