import ArgumentParser
import CommandKit
import PusherSwift
import PydioSDK

struct PydioWatchCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print what happens in workspaces.",
        discussion: """
            Prints files and folders that are created, changed, moved or deleted, connection states, gaps and errors. \
            Reconnects automatically. --count counts everything except states, gaps and errors. pusher-cli listen \
            --pydio prints events of Pusher channels in the same stream.

            With --since, begins with what has happened after that change number, as changes prints it. This needs the \
            server's change log; without one, the exit status is 69.

            Examples:
              pusher-cli pydio watch plans team --json --count 1
              pusher-cli pydio watch plans --since 44
            """)

    @Argument(help: ArgumentHelp("A workspace: id, slug or label. Default: all of them.", valueName: "workspace"))
    var workspaces: [String] = []

    @Option(
        help: ArgumentHelp(
            "Begin with the changes after this number. Default: with what happens from now on.", valueName: "n"))
    var since: Int64?

    @OptionGroup var watch: PydioWatchOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard since.map({ $0 >= 0 }) ?? true else { throw ValidationError("--since must be 0 or more.") }
    }

    func run() async throws {
        var options = watch.events
        options.sequence = since
        let feed = PydioFeed(try pydio.account(), workspaces: workspaces, options: options)
        try await EventStream(feeds: [feed], mode: .everything, options: stream).run().exit()
    }
}
