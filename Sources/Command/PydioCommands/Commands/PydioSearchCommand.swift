import ArgumentParser
import CommandKit
import PydioSDK

struct PydioSearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Find files and folders of a workspace by name.",
        discussion: """
            The server searches its index, so it finds what it has indexed: names, and contents if it indexes those. \
            An asterisk stands for any characters. A server without an index cannot search (exit status 69): list \
            instead.

            Examples:
              pusher-cli pydio search plans roof
              pusher-cli pydio search plans '*.pdf' --limit 10 --json
            """)

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Argument(help: "What to look for.")
    var text: String

    @Option(help: ArgumentHelp("Print at most this many. Default: all that the server returns.", valueName: "n"))
    var limit: Int?

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard text.contains(where: { !$0.isWhitespace }) else { throw ValidationError("TEXT cannot be empty.") }
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit must be 1 or more.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(workspace)
            let found = try await workspace.client.search(workspaceId: workspace.id, query: text, limit: limit)
            _ = output.write(
                found.map { NodeRecord($0, in: workspace, shownAs: $0.fullPath) }, none: "nothing was found")
        }
    }
}
