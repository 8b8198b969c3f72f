import ArgumentParser
import CommandKit
import PydioSDK

struct PydioFeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feed", abstract: "Print what users have done in a workspace, newest first.",
        discussion: """
            Prints the time, who did it, what it was and where, as far as the server says. Fails with status 69 if the \
            server keeps no feed; changes reads its change log.

            Example:
              pusher-cli pydio feed plans --limit 50
            """)

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Option(help: ArgumentHelp("Print at most this many. Servers before version 6 return at most 10.", valueName: "n"))
    var limit = 15

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit must be 1 to 10000.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(workspace)
            let activities = try await workspace.client.activities(workspaceId: workspace.id, limit: limit)
            _ = output.write(
                activities.map { ActivityRecord(activity: $0, workspace: workspace) },
                none: "nothing has happened here yet")
        }
    }
}
