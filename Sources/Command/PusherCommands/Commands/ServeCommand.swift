import ArgumentParser
import CommandKit
import Foundation
import PusherMockServer
import Transport

struct ServeCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the mock server: for tests and development, not for production.",
        discussion: """
            Serves the Pusher protocol and the HTTP API on one port, and signs for its own clients at /pusher/auth and \
            /pusher/user-auth. Prints 'listening on ADDRESS:PORT' when ready, then the application's id, key, secret \
            and encryption master key, and a PUSHER_URL for other programs; a secret that you have given is not \
            printed. Runs until Ctrl-C. While it runs, your other commands use it, unless an option, the environment \
            or a context that you chose names another server.

            Anyone who can reach /pusher/auth can join every channel, so keep it on the loopback interface. There, web \
            pages are refused unless --allow-origin names their origin, and so are host names other than localhost \
            unless --allow-host names them. A connection that takes more than 30 seconds for an HTTP request is closed.

            A script is a JSON array of steps, such as
              {"on": "subscribe", "channel": "prices", "do": "publish", "event": "tick", "data": "1"}
              {"on": "connection", "after": 2.5, "do": "close", "code": 4200, "times": 1}
              {"do": "fail-auth", "status": 503, "times": 2}
            "on" is connection or subscribe; without it, the step runs at the start. "do" is close, drop, reset, \
            silent, ignore-pings, garbage, publish, refuse, fail-auth or clear-faults.

            Examples:
              pusher-cli serve --port 6001 --profile soketi
              pusher-cli serve --verbose --allow-origin http://localhost:3000
            """)

    @Option(help: "The port to listen on; 0 picks a free one.")
    var port = 6001

    @Option(help: "The address to listen on; the default is reachable only from this machine.")
    var host = "127.0.0.1"

    @Option(help: "The application's id. Default: $PUSHER_APP_ID, else \(PusherMockServer.App.defaultID).")
    var appId: String?

    @Option(help: "The application's key. Default: $PUSHER_KEY, else \(PusherMockServer.App.defaultKey).")
    var key: String?

    @Option(
        help: """
            The application's secret. Default: $PUSHER_SECRET, else \(PusherMockServer.App.defaultSecret). Prefer \
            $PUSHER_SECRET: arguments show in the process list.
            """)
    var secret: String?

    @Option(
        help: """
            Base64 of 32 bytes, for encrypted channels. Default: $PUSHER_ENCRYPTION_MASTER_KEY, else \
            \(PusherMockServer.App.defaultEncryptionMasterKey).
            """)
    var encryptionMasterKey: String?

    @Option(
        help: "The server whose frames and answers to imitate: vendor, soketi or reverb. Default: vendor.",
        completion: .list(PusherMockServer.Profile.allCases.map(\.rawValue)),
        transform: profile(named:))
    var profile = PusherMockServer.Profile.vendor

    @Option(help: "A URL to post webhooks to.")
    var webhookUrl: String?

    @Flag(help: "Send subscription counts to subscribers.")
    var subscriptionCounts = false

    @Option(help: "A file with timed or triggered faults and events.")
    var script: String?

    @Option(help: "PEM file with the certificate chain, to serve wss and https.")
    var certificate: String?

    @Option(help: "PEM file with the certificate's private key.")
    var privateKey: String?

    @OptionGroup var origins: OriginOptions

    @Flag(help: "Save this server as the context local and use it, so that commands also find it after a restart.")
    var context = false

    @Flag(
        help: """
            Report on standard error what happens: connections, subscriptions, events, client events, refused \
            requests, failed webhooks.
            """)
    var verbose = false

    @Flag(help: "Print JSON, one object a line: where the server listens and, with --verbose, what happens.")
    var json = false

    @OptionGroup var color: ColorOption

    private static func profile(named name: String) throws -> PusherMockServer.Profile {
        guard let profile = PusherMockServer.Profile(rawValue: name) else {
            throw ValidationError("it must be vendor, soketi or reverb.")
        }
        return profile
    }

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port must be 0 to 65535.") }
        guard !host.isEmpty, !host.contains("/") else {
            throw ValidationError("--host must be an address or a host name, without a scheme or a port.")
        }
        guard (certificate == nil) == (privateKey == nil) else {
            throw ValidationError("--certificate and --private-key must be used together.")
        }
        for (name, value) in [
            ("--app-id", appId), ("PUSHER_APP_ID", Environment["PUSHER_APP_ID"]), ("--key", key),
            ("PUSHER_KEY", Environment["PUSHER_KEY"]),
        ] {
            if let value { try NameArguments.pathSegment(value, of: name) }
        }
        let masterKey = SecretOption.encryptionMasterKey
        for (name, value) in [
            (masterKey.name, encryptionMasterKey), (masterKey.variable, Environment[masterKey.variable]),
        ] {
            if let mistake = MasterKeyOption.mistake(value, in: name) { throw ValidationError("\(mistake).") }
        }
        guard webhookUrl.map(HTTPURL.isOne) ?? true else {
            throw ValidationError("--webhook-url must be an http or https URL.")
        }
    }

    func run() async throws {
        let app = PusherMockServer.App(
            id: appId ?? Environment["PUSHER_APP_ID"] ?? PusherMockServer.App.defaultID,
            key: key ?? Environment["PUSHER_KEY"] ?? PusherMockServer.App.defaultKey,
            secret: SecretOption.secret.given(secret) ?? PusherMockServer.App.defaultSecret,
            encryptionMasterKey: SecretOption.encryptionMasterKey.given(encryptionMasterKey)
                ?? PusherMockServer.App.defaultEncryptionMasterKey,
            sendsSubscriptionCounts: subscriptionCounts,
            webhooks: webhookUrl.map { PusherMockServer.Webhooks(url: $0) })
        // Other commands accept an IPv6 address in brackets.
        let address = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        var configuration = PusherMockServer.Configuration(
            apps: [app], host: address, port: port, profile: profile, allowedOrigins: origins.allowOrigin)
        configuration.allowedHosts = origins.allowHost
        if let certificate, let privateKey {
            configuration.tls = PusherMockServer.TLS(certificatePath: certificate, privateKeyPath: privateKey)
        }
        if let script { configuration.script = try Self.script(in: script) }
        let run = ServerRun(
            configuration: configuration, isVerbose: verbose, printsJSON: json, style: color.standardError,
            isKnown: true, keepsContext: context)
        try await run()
    }

    /// The maximum size of a script, in bytes.
    private static let maximumScriptSize = 16 << 20

    private static func script(in path: String) throws -> PusherMockServer.Script {
        let text = try Input.text(of: path, limit: maximumScriptSize)
        do {
            return try PusherMockServer.Script(json: text)
        } catch {
            throw CommandFailure(.badData, "cannot use the script \(path): \(error)")
        }
    }
}
