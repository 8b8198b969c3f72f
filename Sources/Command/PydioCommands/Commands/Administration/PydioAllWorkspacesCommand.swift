import ArgumentParser
import CommandKit
import PydioSDK

struct PydioAllWorkspacesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "workspaces", abstract: "List all workspaces of the server.",
        discussion: """
            Prints each with its slug and its id, whether or not you may open it.

            Example:
              pusher-cli pydio admin workspaces --json
            """)

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            _ = output.write(try await account.client.listAllWorkspaces().map { WorkspaceRecord(workspace: $0) })
        }
    }
}
