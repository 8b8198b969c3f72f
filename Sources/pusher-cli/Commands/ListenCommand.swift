import ArgumentParser
import MatrixSDK
import PusherSwift

struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print everything that happens: events, members, states, errors.",
        discussion: """
            Runs until Ctrl-C, --count or --timeout. The connection comes back by itself. With --matrix the events of your \
            Matrix rooms come in the same stream (see pusher-cli matrix login); without channels no key is needed then.

            Examples:
              pusher-cli listen presence-room --sign-in --user-id ann --watch bob --json
              pusher-cli listen prices --matrix --notifications
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @Flag(help: "Print the events of Matrix rooms as well.")
    var matrix = false

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var user: UserOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard matrix || (selection.rooms.isEmpty && !selection.notifications) else {
            throw ValidationError("--room and --notifications go with --matrix.")
        }
    }

    func run() async throws {
        let needsPusher = !matrix || !channels.isEmpty || user.signIn
        let pusher = try needsPusher ? connection.client(as: user) : Pusher(key: "")
        try await ExitStatus.reportingMatrix {
            var feed: MatrixFeed?
            if matrix {
                let rest = MXRestClientOptions(caFile: connection.caFile, proxy: connection.proxy)
                feed = selection.feed(try MatrixAccount(rest))
            }
            try await EventStream(
                pusher: pusher, channels: channels, as: user, feeds: feed.map { [$0] } ?? [], mode: .everything, options: stream
            ).run().exit()
        }
    }
}
