import ArgumentParser
import PusherSwift
import PydioSDK

struct PydioWatchCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print what happens in workspaces from now on.",
        discussion: """
            Prints files and folders that are created, changed, moved or deleted, connection states, gaps and errors. \
            Reconnects automatically. --count counts everything except states, gaps and errors. pusher-cli listen \
            --pydio prints events of Pusher channels in the same stream.

            Example:
              pusher-cli pydio watch plans team --json --count 1
            """)

    @Argument(help: ArgumentHelp("A workspace: id, slug or label. Default: all of them.", valueName: "workspace"))
    var workspaces: [String] = []

    @OptionGroup var watch: PydioWatchOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        let feed = PydioFeed(try pydio.account(), workspaces: workspaces, options: watch.events)
        try await EventStream(feeds: [feed], mode: .everything, options: stream).run().exit()
    }
}
