package import ArgumentParser
import Foundation
import PusherProtocol
package import PusherSwift

/// The server, the credentials and the connection's options, for every command that connects.
package struct ConnectionOptions: ParsableArguments {
    @OptionGroup package var credentials: CredentialOptions
    @OptionGroup package var masterKey: MasterKeyOption
    @OptionGroup package var address: AddressOptions
    @OptionGroup package var network: NetworkArguments

    @Option(help: "URL of the auth endpoint for private and presence channels.")
    package var authEndpoint: String?

    @Option(help: "URL of the auth endpoint for users who sign in.")
    package var userAuthEndpoint: String?

    @Option(help: "A header for the auth endpoints, as 'Name: value'. May be repeated.")
    package var authHeader: [String] = []

    @Option(help: "A header for the WebSocket handshake, as 'Name: value'. May be repeated.")
    package var header: [String] = []

    @Option(help: "Ping the server after this many seconds of silence; it may ask for less. Default: 120.")
    package var activityTimeout: Double?

    @Option(help: "Seconds to wait for the answer to a ping. Default: 30.")
    package var pongTimeout: Double?

    @Flag(help: "Offer the server message compression (permessage-deflate).")
    package var compression = false

    @Option(help: "The longest wait before reconnecting, in seconds. Default: 120.")
    package var maxReconnectDelay: Double?

    @Flag(help: "Log what happens to standard error.")
    package var verbose = false

    package init() {}

    package func validate() throws {
        _ = try HeaderOption.fields(authHeader, of: "--auth-header")
        try HeaderOption.checkHandshake(header, of: "--header")
        for (name, seconds) in [
            ("--activity-timeout", activityTimeout), ("--pong-timeout", pongTimeout),
            ("--max-reconnect-delay", maxReconnectDelay),
        ] {
            try Seconds.check(name, seconds)
        }
        for (name, url) in [("--auth-endpoint", authEndpoint), ("--user-auth-endpoint", userAuthEndpoint)] {
            guard let url else { continue }
            guard HTTPURL.isOne(url) else {
                throw ValidationError("\(name) must be an http or https URL, not “\(url)”.")
            }
        }
    }

    /// Returns the settings from options, context and environment.
    package func settings() throws -> Settings {
        var options = try address.settings(network)
        (options.authEndpoint, options.userAuthEndpoint) = (authEndpoint, userAuthEndpoint)
        options.encryptionMasterKey = masterKey.given
        let settings = try credentials.settings(options)
        try settings.checkTrust()
        return settings
    }

    /// Returns the options for creating the client.
    package func clientOptions(_ settings: Settings) throws -> PusherClientOptions {
        var options = PusherClientOptions(
            authMethod: authMethod(settings), host: settings.pusherHost, port: settings.port, path: settings.path,
            useTLS: settings.usesTLS)
        if let endpoint = settings.userAuthEndpoint { options.userAuthMethod = .endpoint(endpoint) }
        let headers = try HeaderOption.fields(authHeader, of: "--auth-header")
        options.authHeaders = { headers }
        options.encryptionMasterKey = settings.encryptionMasterKey
        options.handshakeHeaders = try HeaderOption.fields(header, of: "--header")
        (options.caFile, options.pinnedKey, options.proxy) = (settings.caFile, settings.pinnedKey, settings.proxy)
        options.activityTimeout = activityTimeout
        if let pongTimeout { options.pongTimeout = .seconds(pongTimeout) }
        if let maxReconnectDelay { options.reconnectPolicy.maximumDelay = .seconds(maxReconnectDelay) }
        if compression { options.compression = PusherCompression() }
        if verbose { options.logger = StandardError.logger }
        return options
    }

    /// Creates a client that is not connected yet.
    ///
    /// - Parameter channels: The channels to subscribe to.
    package func client(
        as user: UserOptions, of channels: [String], _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) throws -> Pusher {
        let settings = try settings()
        try settings.requireSubscribing(to: channels)
        var options = try clientOptions(settings)
        try user.apply(to: &options)
        options.callbackQueue = .queue(EventStream.queue)
        change(&options)
        StatusLine.wait(for: "a connection to \(settings.serverName)")
        let pusher = Pusher(key: settings.key ?? "", options: options)
        if let member = user.presenceMember { pusher.connection.userDataFetcher = { member } }
        return pusher
    }

    /// Returns the way to authorize channels. An endpoint that is given signs even if the secret is known.
    private func authMethod(_ settings: Settings) -> AuthMethod {
        if let endpoint = settings.authEndpoint { return .endpoint(authEndpoint: endpoint) }
        return settings.secret.map { .inline(secret: $0) } ?? .noMethod
    }
}

extension PusherClientOptions {
    /// Makes the client give up slightly before the command, so that the command can report what is missing.
    package mutating func limitConnecting(to seconds: Double) {
        connectTimeout = .seconds(seconds * 0.95)
    }

    /// Applies the same limit to every wait for the server.
    package mutating func limitWaits(to seconds: Double) {
        limitConnecting(to: seconds)
        (authTimeout, subscriptionTimeout) = (connectTimeout, connectTimeout)
    }
}

/// Parses the URL of an HTTP service in an option.
package enum HTTPURL {
    package static func isOne(_ text: String) -> Bool {
        guard let url = URL(string: text), url.host?.isEmpty == false else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased())
    }
}
