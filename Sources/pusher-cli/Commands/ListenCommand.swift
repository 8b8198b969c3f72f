import ArgumentParser
import PusherSwift

struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print everything that happens: events, members, states, errors.",
        discussion: """
            Runs until Ctrl-C, --count or --timeout. The connection comes back by itself.

            Example:
              pusher-cli listen presence-room --sign-in --user-id ann --watch bob --json
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @OptionGroup var stream: StreamOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let pusher = try connection.client(as: stream.user)
        try await EventStream(pusher: pusher, channels: channels, mode: .everything, options: stream).run().exit()
    }
}
