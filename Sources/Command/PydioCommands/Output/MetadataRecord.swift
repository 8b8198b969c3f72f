import CommandKit
import PydioSDK

/// A field of a node's metadata, as a line.
struct MetadataRecord: ListRecord {
    let field: PydioMetadataField
    let path: String
    let workspace: PydioWorkspace

    var json: String {
        var line = JSONLine(type: "metadata")
        line.add("workspace_id", workspace.id)
        line.add("path", path)
        line.add("field", field.name)
        line.add("label", field.label)
        line.add("value", field.value)
        return line.text
    }

    /// Returns columns such as `tags  Tags  roof,draft`.
    func columns(style: TextStyle) -> [TerminalText] {
        [style.channel(field.name), style.dim(field.label), style.event(field.value)]
    }
}
