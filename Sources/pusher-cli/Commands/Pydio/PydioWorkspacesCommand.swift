import ArgumentParser
import PydioSDK

struct PydioWorkspacesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "workspaces", abstract: "List the workspaces that hold files.",
        discussion: """
            Each with its slug and its id: either, or the label, names it in other commands.

            Example:
              pusher-cli pydio workspaces --json
            """)

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            for workspace in try await account.workspaces() {
                guard WorkspaceRecord(workspace: workspace.info).write(asJSON: json) else { return }
            }
        }
    }
}
