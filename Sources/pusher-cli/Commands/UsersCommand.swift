import ArgumentParser
import PusherHTTP

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List the ids of the users on a presence channel.",
        discussion: """
            Example:
              pusher-cli users presence-room
            """)

    @Argument(help: "The presence channel.")
    var channel: String

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var server: HTTPOptions

    func run() async throws {
        let client = try server.client()
        for user in try await client.users(of: channel) {
            _ = json ? StandardOutput.write(json: line(user)) : StandardOutput.write(TerminalText(user))
        }
    }

    private func line(_ user: String) -> String {
        var line = JSONLine(type: "user")
        line.add("channel", channel)
        line.add("user_id", user)
        return line.text
    }
}
