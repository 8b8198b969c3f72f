import ArgumentParser
import CommandKit
import PydioSDK

struct PydioWorkspacesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "workspaces", abstract: "List the workspaces that hold files.",
        discussion: """
            Prints each with its slug and its id. Other commands take either of them, or the label.

            Example:
              pusher-cli pydio workspaces --json
            """)

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            _ = output.write(try await account.workspaces().map { WorkspaceRecord(workspace: $0.info) })
        }
    }
}
