import ArgumentParser
import CommandKit
import PusherHTTP

struct ChannelCommand: AsyncParsableCommand, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Show one channel, occupied or not.",
        discussion: """
            Use user_count for presence channels, subscription_count for other channels, and cache for cache channels.

            Example:
              pusher-cli channel cache-prices --info subscription_count,cache --json
            """)

    @Argument(help: "The channel.")
    var channel: String

    @OptionGroup var info: InfoOptions

    @OptionGroup var output: OutputOptions

    @OptionGroup var server: HTTPOptions

    func checkArguments() throws {
        try NameArguments.channel(channel)
    }

    func run() async throws {
        let attributes = try info.attributes()
        let info = try await server.api().ask { try await $0.channel(channel, info: attributes) }
        _ = output.write(ChannelRecord(name: channel, info: info))
    }
}
