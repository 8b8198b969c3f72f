import ArgumentParser
import PusherMockServer

struct AuthServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth-server",
        abstract: "Run auth endpoints that sign whatever they are asked: for development, not for production.",
        discussion: """
            Serves /pusher/auth and /pusher/user-auth, to use with any server while an application has none of its own. \
            Prints 'listening on ADDRESS:PORT' when ready, and runs until Ctrl-C. \
            Whoever reaches it is let into every channel as anybody: keep it on the loopback interface.

            Example:
              pusher-cli auth-server --port 6002
            """)

    @Option(help: "Port; 0 takes any free one.")
    var port = 6002

    @Option(help: "Address to bind; the default is reachable from this machine only.")
    var host = "127.0.0.1"

    @OptionGroup var credentials: CredentialOptions

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
    }

    func run() async throws {
        let app = PusherMockServer.App(
            key: try credentials.requireKey(), secret: try credentials.requireSecret(),
            encryptionMasterKey: credentials.encryptionMasterKeyGiven)
        try await PusherMockServer.serve(
            PusherMockServer.Configuration(apps: [app], host: host, port: port, servesAuthOnly: true)
        ).exit()
    }
}
