import ArgumentParser
import CommandKit
import PusherHTTP

struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels", abstract: "List the occupied channels.",
        discussion: """
            Servers report user_count only if --prefix starts with presence-.

            Example:
              pusher-cli channels --prefix presence- --info user_count
            """)

    @Option(help: "Only list channels whose names start with this prefix.")
    var prefix: String?

    @OptionGroup var info: InfoOptions

    @OptionGroup var output: OutputOptions

    @OptionGroup var server: HTTPOptions

    func run() async throws {
        let attributes = try info.attributes()
        let channels = try await server.api().ask { try await $0.channels(prefix: prefix, info: attributes) }
        _ = output.write(
            channels.sorted { $0.key < $1.key }.map { ChannelRecord(name: $0.key, info: $0.value) },
            none: "no channel\(prefix.map { " that starts with “\($0)”" } ?? "") is occupied")
    }
}
