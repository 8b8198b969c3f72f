import ArgumentParser
import Foundation
import PusherSwift

/// Where the server is and how to be let in: the same for every command that connects.
struct ConnectionOptions: ParsableArguments {
    @OptionGroup var credentials: CredentialOptions

    @Option(help: "A cluster of Pusher Channels, such as eu. Default: $PUSHER_CLUSTER.")
    var cluster: String?

    @Option(help: "The server's host; wins over --cluster. Default: $PUSHER_HOST.")
    var host: String?

    @Option(help: "The server's port. Default: $PUSHER_PORT, else 443 with TLS and 80 without.")
    var port: Int?

    @Option(help: "A prefix before /app, for servers behind a reverse proxy.")
    var path: String?

    @Flag(inversion: .prefixedNo, help: "Use TLS.")
    var tls = true

    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.")
    var caFile: String?

    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    @Option(help: "URL that signs for private and presence channels.")
    var authEndpoint: String?

    @Option(help: "URL that signs for the user who signs in.")
    var userAuthEndpoint: String?

    @Option(help: "A header for the auth endpoints, as 'Name: value'. May be repeated.")
    var authHeader: [String] = []

    @Option(help: "Seconds of silence after which the server is pinged; it may ask for less. Default: 120.")
    var activityTimeout: Double?

    @Option(help: "Seconds that the server may take to answer a ping. Default: 30.")
    var pongTimeout: Double?

    @Flag(help: "Offer the server to compress messages (permessage-deflate).")
    var compression = false

    @Option(help: "The longest wait before connecting again, in seconds. Default: 120.")
    var maxReconnectDelay: Double?

    @Flag(help: "Log what happens to standard error.")
    var verbose = false

    func validate() throws {
        guard port.map({ (1...65535).contains($0) }) ?? true else { throw ValidationError("--port is 1 to 65535.") }
        for header in authHeader where !header.contains(":") {
            throw ValidationError("--auth-header takes 'Name: value'.")
        }
        for (name, seconds) in [
            ("--activity-timeout", activityTimeout), ("--pong-timeout", pongTimeout),
            ("--max-reconnect-delay", maxReconnectDelay),
        ] {
            try Seconds.check(name, seconds)
        }
        for (name, url) in [("--auth-endpoint", authEndpoint), ("--user-auth-endpoint", userAuthEndpoint)] {
            guard let url else { continue }
            guard URL(string: url)?.host != nil else { throw ValidationError("\(name) is not a URL.") }
        }
    }

    /// The key, or wrong use.
    func requireKey() throws -> String { try credentials.requireKey() }

    /// What the client is made with.
    func clientOptions() throws -> PusherClientOptions {
        var options = PusherClientOptions(
            authMethod: try authMethod(), host: pusherHost, port: try port ?? Environment.port(), path: path,
            useTLS: tls)
        if let userAuthEndpoint { options.userAuthMethod = .endpoint(userAuthEndpoint) }
        let headers = authHeaders
        options.authHeaders = { headers }
        options.encryptionMasterKey = credentials.encryptionMasterKeyGiven
        options.caFile = caFile
        options.proxy = proxy
        options.activityTimeout = activityTimeout
        if let pongTimeout { options.pongTimeout = .seconds(pongTimeout) }
        if let maxReconnectDelay { options.reconnectPolicy.maximumDelay = .seconds(maxReconnectDelay) }
        if compression { options.compression = PusherCompression() }
        if verbose { options.logger = StandardError.logger }
        return options
    }

    func client(as user: UserOptions) throws -> Pusher {
        var options = try clientOptions()
        try user.apply(to: &options)
        options.callbackQueue = .queue(EventStream.queue)
        return Pusher(key: try requireKey(), options: options)
    }

    var pusherHost: PusherHost {
        if let host = host ?? Environment["PUSHER_HOST"] { return .host(host) }
        if let cluster = cluster ?? Environment["PUSHER_CLUSTER"] { return .cluster(cluster) }
        return .defaultHost
    }

    private func authMethod() throws -> AuthMethod {
        if let authEndpoint { return .endpoint(authEndpoint: authEndpoint) }
        return credentials.secretGiven.map { .inline(secret: $0) } ?? .noMethod
    }

    private var authHeaders: [String: String] {
        Dictionary(
            authHeader.map { header in
                let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces))
            }, uniquingKeysWith: { $1 })
    }
}

/// The environment variables that stand in for options; empty ones count as absent.
enum Environment {
    static subscript(name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    static func port() throws -> Int? {
        guard let text = self["PUSHER_PORT"] else { return nil }
        guard let port = Int(text), (1...65535).contains(port) else {
            throw ValidationError("PUSHER_PORT is not a port.")
        }
        return port
    }
}
