import ArgumentParser
import Foundation
import PusherMockServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the mock server: for tests and development, not for production.",
        discussion: """
            Speaks the Pusher protocol and the HTTP API on one port, and signs for its own clients at /pusher/auth and \
            /pusher/user-auth. Prints 'listening on ADDRESS:PORT' when ready, and runs until Ctrl-C. \
            Whoever reaches /pusher/auth is let into every channel: keep it on the loopback interface.

            A script is a JSON array of steps, such as
              {"on": "subscribe", "channel": "prices", "do": "publish", "event": "tick", "data": "1"}
              {"on": "connection", "after": 2.5, "do": "close", "code": 4200, "times": 1}
              {"do": "fail-auth", "status": 503, "times": 2}
            "on" is connection or subscribe; without it the step is taken at the start. "do" is close, drop, reset, \
            silent, ignore-pings, garbage, publish, refuse, fail-auth or clear-faults.

            Example:
              pusher-cli serve --port 6001 --profile soketi
            """)

    @Option(help: "Port; 0 takes any free one.")
    var port = 6001

    @Option(help: "Address to bind; the default is reachable from this machine only.")
    var host = "127.0.0.1"

    @Option(help: "The application's id. Default: $PUSHER_APP_ID, else \(PusherMockServer.App.defaultID).")
    var appId: String?

    @Option(help: "The application's key. Default: $PUSHER_KEY, else \(PusherMockServer.App.defaultKey).")
    var key: String?

    @Option(
        help: """
            The application's secret. Default: $PUSHER_SECRET, else \(PusherMockServer.App.defaultSecret). Better \
            $PUSHER_SECRET: arguments show in the process list.
            """)
    var secret: String?

    @Option(help: "Base64 of 32 bytes, for encrypted channels. Default: $PUSHER_ENCRYPTION_MASTER_KEY.")
    var encryptionMasterKey: String?

    @Option(
        help: "Whose frames and answers to imitate: vendor, soketi or reverb. Default: vendor.",
        transform: profile(named:))
    var profile = PusherMockServer.Profile.vendor

    @Option(help: "A URL to post webhooks to.")
    var webhookUrl: String?

    @Flag(help: "Tell subscribers how many they are.")
    var subscriptionCounts = false

    @Option(help: "A file with faults and publications, timed or triggered.")
    var script: String?

    @Option(help: "PEM file of the certificate chain: serves wss and https.")
    var certificate: String?

    @Option(help: "PEM file of the certificate's private key.")
    var privateKey: String?

    private static func profile(named name: String) throws -> PusherMockServer.Profile {
        guard let profile = PusherMockServer.Profile(rawValue: name) else {
            throw ValidationError("--profile is vendor, soketi or reverb.")
        }
        return profile
    }

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
            secret: SecretOption.secret.given(secret) ?? PusherMockServer.App.defaultSecret,
            encryptionMasterKey: SecretOption.encryptionMasterKey.given(encryptionMasterKey),
            sendsSubscriptionCounts: subscriptionCounts,
            webhooks: webhookUrl.map { PusherMockServer.Webhooks(url: $0) })
        var configuration = PusherMockServer.Configuration(apps: [app], host: host, port: port, profile: profile)
        if let certificate, let privateKey {
            configuration.tls = PusherMockServer.TLS(certificatePath: certificate, privateKeyPath: privateKey)
        }
        if let script {
            do {
                configuration.script = try PusherMockServer.Script(
                    json: String(contentsOfFile: script, encoding: .utf8))
            } catch {
                StandardError.write("error: cannot use the script \(script): \(error)")
                return try ExitStatus.badData.exit()
            }
        }
        try await PusherMockServer.serve(configuration).exit()
    }
}

extension PusherMockServer {
    /// Serves until Ctrl-C, and says where.
    static func serve(_ configuration: Configuration) async -> ExitStatus {
        let server: PusherMockServer
        do {
            server = try await PusherMockServer.start(configuration)
        } catch {
            StandardError.write("error: \(error)")
            return error.code == .invalidConfiguration ? .badData : .unavailable
        }
        if !server.isOnLoopback {
            StandardError.write(
                "warning: whoever reaches \(server.host) is let into every channel; this server is for development")
        }
        await SignalWatch.wait {
            let host = server.host.contains(":") ? "[\(server.host)]" : server.host
            return StandardOutput.write("listening on \(host):\(server.port)")
        }
        await server.stop()
        return .done
    }
}
