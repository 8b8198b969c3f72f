import ArgumentParser
import CommandKit
import PusherSwift

struct SubscribeCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "subscribe", abstract: "Print the events of channels.",
        discussion: """
            Only events go to standard output; connection problems and refused channels go to standard error. \
            Reconnects automatically.

            Example:
              pusher-cli subscribe prices private-orders --event price --json
            """)

    @Argument(help: ArgumentHelp("The channels, including private- and presence- ones.", valueName: "channel"))
    var channels: [String]

    @Option(name: .customLong("event"), help: "Only print events with this name. May be repeated.")
    var events: [String] = []

    @OptionGroup var stream: StreamOptions
    @OptionGroup var frames: FrameOptions
    @OptionGroup var user: UserOptions
    @OptionGroup var connection: ConnectionOptions

    func checkArguments() throws {
        try NameArguments.subscribable(channels)
    }

    func run() async throws {
        let pusher = try connection.client(as: user, of: channels) {
            $0.wireTap = frames.tap(stream.output.json ? .jsonOnStandardError : .text)
            stream.limitConnecting(&$0)
        }
        try await EventStream(
            pusher: pusher, channels: channels, as: user, mode: .events(named: Set(events)), options: stream
        ).run().exit()
    }
}
