import ArgumentParser
import CommandKit
import PydioSDK

struct PydioPurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Make the server permanently delete what has expired in a workspace.",
        discussion: """
            An administrator sets after how many days files expire. The server says neither whether that is set nor \
            what it has deleted. Asks for confirmation at the terminal first. Without a terminal, use --force.

            Example:
              pusher-cli pydio purge plans --force
            """)

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Flag(help: "Do not ask for confirmation.")
    var force = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard force || TerminalQuestion.canBeAsked else {
            throw ValidationError("There is no terminal to ask on: --force purges without asking.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(workspace)
            if !force {
                guard try TerminalQuestion.isConfirmed("Delete what has expired in \(workspace.name) for good?") else {
                    StandardError.write("nothing is deleted")
                    return
                }
            }
            try await workspace.client.purge(workspaceId: workspace.id)
            StandardError.write("the server was asked to purge \(workspace.name); it does not say what it has deleted")
        }
    }
}
