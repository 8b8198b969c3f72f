import ArgumentParser
import MatrixSDK
import PusherSwift
import PydioSDK

struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print everything that happens: events, members, states, errors.",
        discussion: """
            Runs until Ctrl-C, --count or --timeout. The connection comes back by itself. With --matrix the events of your \
            Matrix rooms come in the same stream (see pusher-cli matrix login), with --pydio those of Pydio workspaces (see \
            pusher-cli pydio login); without channels no key is needed then.

            Examples:
              pusher-cli listen presence-room --sign-in --user-id ann --watch bob --json
              pusher-cli listen prices --matrix --notifications --pydio plans
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @Flag(help: "Print the events of Matrix rooms as well.")
    var matrix = false

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var pydio: PydioListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var user: UserOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard matrix || (selection.rooms.isEmpty && !selection.notifications) else {
            throw ValidationError("--room and --notifications go with --matrix.")
        }
    }

    func run() async throws {
        let hasFeeds = matrix || !pydio.workspaces.isEmpty
        let needsPusher = !hasFeeds || !channels.isEmpty || user.signIn
        let pusher = try needsPusher ? connection.client(as: user) : nil
        try await ExitStatus.reportingMatrix {
            try await EventStream(
                pusher: pusher, channels: channels, as: user, feeds: try feeds(), mode: .everything, options: stream
            ).run().exit()
        }
    }

    private func feeds() throws(CommandFailure) -> [any Feed] {
        var feeds: [any Feed] = []
        if matrix {
            let rest = MXRestClientOptions(caFile: connection.caFile, proxy: connection.proxy)
            feeds.append(selection.feed(try MatrixAccount(rest)))
        }
        return feeds + (try pydio.feeds(PydioClientOptions(caFile: connection.caFile, proxy: connection.proxy)))
    }
}
