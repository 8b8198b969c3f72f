import ArgumentParser
import MatrixSDK
import PusherSwift
import PydioSDK

struct ListenCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print everything that happens: events, members, states, errors.",
        discussion: """
            Runs until Ctrl-C, --count or --timeout, and reconnects automatically. With --matrix, the stream includes \
            the events of your Matrix rooms (see pusher-cli matrix login), with --pydio those of Pydio workspaces (see \
            pusher-cli pydio login). With either and without channels, no key is needed.

            Examples:
              pusher-cli listen presence-room --sign-in --user-id ann --watch bob --json
              pusher-cli listen prices --matrix --notifications --pydio plans
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @Flag(help: "Also print the events of Matrix rooms.")
    var matrix = false

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var pydio: PydioListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var frames: FrameOptions
    @OptionGroup var user: UserOptions
    @OptionGroup var connection: ConnectionOptions

    func checkArguments() throws {
        try NameArguments.subscribable(channels)
        guard matrix || !selection.isGiven else {
            throw ValidationError("--room, --notifications, --since and --no-catch-up need --matrix.")
        }
        guard
            connection.address.trust.pin == nil
                || [needsPusher, matrix, !pydio.workspaces.isEmpty].count(where: { $0 }) == 1
        else {
            throw ValidationError("--pin is the key of one server: use only one of channels, --matrix and --pydio.")
        }
    }

    private var needsPusher: Bool {
        let hasFeeds = matrix || !pydio.workspaces.isEmpty
        return !hasFeeds || !channels.isEmpty || user.signIn
    }

    func run() async throws {
        let tap = frames.tap(stream.output.json ? .json : .text)
        let client = {
            try connection.client(as: user, of: channels) {
                $0.wireTap = tap
                stream.limitConnecting(&$0)
            }
        }
        let pusher = try needsPusher ? client() : nil
        try await EventStream(
            pusher: pusher, channels: channels, as: user, feeds: try feeds(), mode: .everything, options: stream
        ).run().exit()
    }

    private func feeds() throws(CommandFailure) -> [any Feed] {
        var feeds: [any Feed] = []
        if matrix {
            let rest = try MXRestClientOptions(trust: connection.address.trust, proxy: connection.proxy)
            feeds.append(selection.feed(try MatrixAccount(rest)))
        }
        return feeds
            + (try pydio.feeds(try PydioClientOptions(trust: connection.address.trust, proxy: connection.proxy)))
    }
}
