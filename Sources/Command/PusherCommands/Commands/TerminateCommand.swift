import ArgumentParser
import CommandKit
import PusherHTTP

struct TerminateCommand: AsyncParsableCommand, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "terminate", abstract: "Close every connection that is signed in as a user.",
        discussion: """
            The user can reconnect, unless the application's server no longer signs for them.

            Example:
              pusher-cli terminate ann
            """)

    @Argument(help: "The user's id.")
    var user: String

    @OptionGroup var server: HTTPOptions

    func checkArguments() throws {
        try NameArguments.user(user)
    }

    func run() async throws {
        try await server.api(change: "closing connections on").ask { try await $0.terminateConnections(ofUser: user) }
    }
}
