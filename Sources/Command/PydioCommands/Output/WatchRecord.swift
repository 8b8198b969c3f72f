import CommandKit
import PydioSDK

/// A notification from the server to the user, as a line.
struct WatchRecord {
    let node: NodeResponse
    let workspace: PydioWorkspace

    private var what: String {
        switch node.watch {
        case .changes: "changes"
        case .reads: "reads"
        case .both: "both"
        case nil: "nothing"
        }
    }

    var json: String {
        var line = JSONLine(type: "notify")
        line.add("workspace_id", workspace.id)
        line.add("path", node.fullPath)
        line.add("of", what)
        return line.text
    }

    /// A line such as `plans:/docs  changes`.
    var text: TerminalText { [TerminalText(workspace.remote(node.fullPath)), TerminalText(what)].inColumns() }
}
