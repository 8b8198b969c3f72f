import ArgumentParser
import PusherSwift

struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe", abstract: "Print the events of channels.",
        discussion: """
            Events alone go to standard output; connection trouble and refused channels go to standard error. \
            The connection comes back by itself.

            Example:
              pusher-cli subscribe prices private-orders --event price --json
            """)

    @Argument(help: ArgumentHelp("The channels, private- and presence- ones included.", valueName: "channel"))
    var channels: [String]

    @Option(name: .customLong("event"), help: "Print events of this name only. May be repeated.")
    var events: [String] = []

    @OptionGroup var stream: StreamOptions
    @OptionGroup var user: UserOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let pusher = try connection.client(as: user)
        try await EventStream(
            pusher: pusher, channels: channels, as: user, mode: .events(named: Set(events)), options: stream
        ).run().exit()
    }
}
