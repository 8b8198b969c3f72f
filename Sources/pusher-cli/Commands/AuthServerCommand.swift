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

    @Option(help: "The application's key. Default: $PUSHER_KEY.")
    var key: String?

    @Option(help: "The application's secret. Better $PUSHER_SECRET: arguments show in the process list.")
    var secret: String?

    @Option(
        help: "Base64 of 32 bytes, for encrypted channels. Better $PUSHER_ENCRYPTION_MASTER_KEY.")
    var encryptionMasterKey: String?

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
    }

    func run() async throws {
        guard let key = key ?? Environment["PUSHER_KEY"], let secret = SecretOption.secret.given(secret) else {
            throw ValidationError("Name the application: --key or $PUSHER_KEY, and --secret or $PUSHER_SECRET.")
        }
        let app = PusherMockServer.App(
            key: key, secret: secret,
            encryptionMasterKey: SecretOption.encryptionMasterKey.given(encryptionMasterKey))
        try await PusherMockServer.serve(
            PusherMockServer.Configuration(apps: [app], host: host, port: port, servesAuthOnly: true)
        ).exit()
    }
}
