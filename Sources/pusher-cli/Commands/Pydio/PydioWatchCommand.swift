import ArgumentParser
import PusherSwift
import PydioSDK

struct PydioWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print what happens in workspaces from now on.",
        discussion: """
            Files and folders that are created, changed, moved or deleted, states of the connection, gaps, errors. It comes \
            back by itself. --count counts everything but states, gaps and errors. pusher-cli listen --pydio prints events of \
            Pusher channels in the same stream.

            Example:
              pusher-cli pydio watch plans team --json --count 1
            """)

    @Argument(help: ArgumentHelp("Id, slug or label. Default: all of them.", valueName: "workspace"))
    var workspaces: [String] = []

    @OptionGroup var watch: PydioWatchOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await ExitStatus.reporting {
            let feed = PydioFeed(try pydio.account(), workspaces: workspaces, options: watch.events)
            try await EventStream(feeds: [feed], mode: .everything, options: stream).run().exit()
        }
    }
}
