import ArgumentParser
import CommandKit
import PusherHTTP
import PusherProtocol

struct UsersCommand: AsyncParsableCommand, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List the ids of the users on a presence channel.",
        discussion: """
            Example:
              pusher-cli users presence-room
            """)

    @Argument(help: "The presence channel.")
    var channel: String

    @OptionGroup var output: OutputOptions

    @OptionGroup var server: HTTPOptions

    func checkArguments() throws {
        guard try NameArguments.channel(channel).kind == .presence else {
            throw ValidationError("Only presence- channels have users, not “\(channel)”.")
        }
    }

    func run() async throws {
        let users = try await server.api().ask { try await $0.users(of: channel) }
        _ = output.write(users.map { UserRecord(id: $0, channel: channel) }, none: "nobody is subscribed to \(channel)")
    }
}
