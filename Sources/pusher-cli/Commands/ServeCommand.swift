import ArgumentParser
import PusherMockServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the mock server: for tests and development, not for production.",
        discussion: """
            Speaks the Pusher protocol and the HTTP API on one port, and signs for its own clients at /pusher/auth. \
            Prints 'listening on ADDRESS:PORT' when ready, and runs until Ctrl-C. \
            Whoever reaches /pusher/auth is let into every channel: keep it on the loopback interface.
            """)

    @Option(help: "Port; 0 takes any free one.")
    var port = 6001

    @Option(help: "Address to bind; the default is reachable from this machine only.")
    var host = "127.0.0.1"

    @Option(help: "The application's id. Default: $PUSHER_APP_ID, else \(PusherMockServer.App.defaultID).")
    var appId: String?

    @Option(help: "The application's key. Default: $PUSHER_KEY, else \(PusherMockServer.App.defaultKey).")
    var key: String?

    @Option(help: "The application's secret. Default: $PUSHER_SECRET, else \(PusherMockServer.App.defaultSecret).")
    var secret: String?

    @Option(help: "Base64 of 32 bytes, for encrypted channels. Default: $PUSHER_ENCRYPTION_MASTER_KEY.")
    var encryptionMasterKey: String?

    @Option(help: "PEM file of the certificate chain: serves wss and https.")
    var certificate: String?

    @Option(help: "PEM file of the certificate's private key.")
    var privateKey: String?

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
        guard (certificate == nil) == (privateKey == nil) else {
            throw ValidationError("--certificate and --private-key go together.")
        }
    }

    func run() async throws {
        let app = PusherMockServer.App(
            id: appId ?? Environment["PUSHER_APP_ID"] ?? PusherMockServer.App.defaultID,
            key: key ?? Environment["PUSHER_KEY"] ?? PusherMockServer.App.defaultKey,
            secret: secret ?? Environment["PUSHER_SECRET"] ?? PusherMockServer.App.defaultSecret,
            encryptionMasterKey: encryptionMasterKey ?? Environment["PUSHER_ENCRYPTION_MASTER_KEY"])
        var configuration = PusherMockServer.Configuration(apps: [app], host: host, port: port)
        if let certificate, let privateKey {
            configuration.tls = PusherMockServer.TLS(certificatePath: certificate, privateKeyPath: privateKey)
        }
        let server: PusherMockServer
        do {
            server = try await PusherMockServer.start(configuration)
        } catch {
            StandardError.write("error: \(error)")
            return try ExitStatus.unavailable.exit()
        }
        await SignalWatch.wait {
            StandardOutput.write("listening on \(host.contains(":") ? "[\(host)]" : host):\(server.port)")
        }
        await server.stop()
    }
}
