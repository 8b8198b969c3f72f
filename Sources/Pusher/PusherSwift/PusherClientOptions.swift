public import Logging
import PusherProtocol
public import Realtime
public import Transport

/// The server to connect to.
public enum PusherHost: Sendable, Hashable {
    /// A host name or address, or a URL such as `https://example.org:6001/prefix` with `http`, `https`, `ws` or `wss`.
    /// The port, path and TLS of a URL override the options of the same name.
    case host(String)
    /// A cluster of Pusher Channels such as `eu` or `mt1`.
    case cluster(String)
    /// The host `ws.pusherapp.com`, cluster `mt1`.
    case defaultHost

    /// The parts of a URL; `nil` for a host name or an invalid URL.
    var address: HostAddress? {
        guard case .host(let text) = self, text.contains("://") else { return nil }
        return try? HostAddress(text)
    }

    /// The host, or a placeholder for a URL with a password, to which no client connects.
    fileprivate var withoutPassword: PusherHost {
        if case .host(let text) = self, text.contains("@") { .host("a URL with a password") } else { self }
    }

    /// The host name, or the URL as given.
    public var stringValue: String {
        switch self {
        case .host(let host): host
        case .cluster(let cluster): "ws-\(cluster).pusher.com"
        case .defaultHost: "ws.pusherapp.com"
        }
    }
}

/// The two equivalent forms of a ping.
public enum PusherPingForm: Sendable, Hashable {
    /// The event `pusher:ping`, which passes every proxy and works with every server.
    case event
    /// A WebSocket ping frame, which proves less.
    case controlFrame
}

/// The queue on which the application's callbacks run.
public typealias PusherCallbackQueue = EventCallbackQueue

/// Options for how a client connects, authorizes and limits its memory use.
public struct PusherClientOptions: Sendable {
    /// How private and presence channels are authorized. Default: no authorization.
    public var authMethod: AuthMethod
    /// Whether `bind(eventName:callback:)` parses data that is JSON. Default: yes.
    public var attemptToReturnJSONObject: Bool
    /// Whether to reconnect when the connection is lost. Default: yes.
    public var autoReconnect: Bool
    /// The server's host. Default: `ws.pusherapp.com`.
    public var host: PusherHost
    /// The server's port; `nil`, the default, means 443 with TLS and 80 without.
    public var port: Int?
    /// A prefix before `/app/…`, for servers behind a reverse proxy. Default: none.
    public var path: String?
    /// Whether to use TLS. Default: yes.
    public var useTLS: Bool
    /// Seconds of silence after which the client pings the server; `nil` and NaN mean 120. The server may ask for less.
    /// Infinity, or more than 100 years, means never; anything below a millisecond means a millisecond.
    public var activityTimeout: Double?

    /// The form of the client's pings. The client answers both forms from the server. Default: an event.
    public var pingForm = PusherPingForm.event
    /// The timeout for the server's answer to a ping. Default: 30 s.
    public var pongTimeout = Duration.seconds(30)
    /// The timeout from name resolution to the end of the handshake. Default: 15 s.
    public var connectTimeout = Duration.seconds(15)
    /// The delays between retries. Default: exponential with full jitter, 1 s to 120 s.
    public var reconnectPolicy = ReconnectPolicy.exponential()
    /// Retries before giving up, counted since a connection last held for 10 to 20 seconds; `nil`, the default, means
    /// no limit.
    public var reconnectAttemptsMax: Int?
    /// A PEM file of authorities to trust instead of the system's.
    public var caFile: String?
    /// The only key that the server may have, instead of a certificate from a trusted authority. The issuer, name and
    /// dates of the certificate are not checked. Meant for development servers with self-signed certificates. Applies
    /// to the server at ``host`` and ``port``, and to auth endpoints at the same host and port; other servers are
    /// checked as usual. With a pinned key the client does not connect without TLS. Default: none.
    public var pinnedKey: PublicKeyPin?
    /// The proxy's URL: `http://`, `https://`, `socks5://` or `socks5h://`, with `user:password@` if needed. `nil`, the
    /// default, uses the environment's settings (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`). An empty string
    /// uses no proxy.
    public var proxy: String?
    /// Header fields for the WebSocket handshake, such as a token for a gateway. Not sent to auth endpoints, and never
    /// logged. Names that the handshake itself uses (`Host`, `Upgrade`, `Connection`, `Sec-WebSocket-…` and others of
    /// the connection), and values with line breaks, prevent the client from connecting: it reports `couldNotConnect`.
    /// Default: none.
    public var handshakeHeaders: [String: String] = [:]
    /// A closure that receives every text message of the WebSocket, in both directions, as on the wire except for
    /// signatures and keys: see ``PusherWireMessage``. Runs on ``callbackQueue``, in order with the callbacks, each
    /// message before its effects. For development; `nil`, the default, costs nothing.
    public var wireTap: (@Sendable (PusherWireMessage) -> Void)?
    /// The message compression to offer the server; `nil`, the default, means none.
    public var compression: PusherCompression?
    /// The queue on which callbacks run. Default: a serial queue of the client's own.
    public var callbackQueue = PusherCallbackQueue.own
    /// The logger for errors (at `warning`) and transitions (at `debug`); `nil`, the default, logs nothing.
    public var logger: Logger?
    #if MetricsSupport
        /// The metrics to record; `nil`, the default, records nothing.
        public var metrics: PusherMetrics?
    #else
        var metrics: PusherMetrics? { nil }
    #endif

    /// The maximum bytes of one incoming message, decompressed. A larger message is dropped and reported, and the
    /// connection stays open; one that is 64 times as large closes it. A compressed message that is too large closes
    /// the connection once, see ``PusherCompression``. Default: 10 MiB.
    public var maximumMessageSize = 10 << 20
    /// The maximum bytes of the server's answer to the WebSocket handshake. A longer answer fails the connection
    /// attempt. Default: 16 KiB.
    public var maximumHandshakeSize = 16 << 10
    /// The maximum bytes to buffer for a server that does not read. Beyond that the client reports an error and
    /// reconnects. Default: 16 MiB.
    public var maximumSendQueueSize = 16 << 20
    /// The maximum bytes of an auth endpoint's answer. A longer answer fails the authorization. Default: 1 MiB.
    public var maximumAuthAnswerSize = 1 << 20
    /// The maximum number of concurrent authorization requests. Default: 8.
    public var maximumAuthRequests = 8
    /// Base64 of the 32 bytes from which the keys of encrypted channels are derived. Only used with
    /// ``AuthMethod/inline(secret:)``. Like the secret, it is for tests and tools, not for programs that others run.
    public var encryptionMasterKey: String?
    /// The timeout of one authorization, by any method. Default: 30 s.
    public var authTimeout = Duration.seconds(30)
    /// The maximum number of retries of a request to an auth endpoint that could not be reached, did not answer within
    /// ``authTimeout``, or answered 429 or 5xx, each time after ``authRetryDelay``. Default: 2.
    public var maximumAuthRetries = 2
    /// The delay before each retry of an authorization. Default: 1 s.
    public var authRetryDelay = Duration.seconds(1)
    /// A closure that returns headers for a request to an auth endpoint. Called for each request, so that it can renew
    /// a token. These headers replace the client's own of the same name. An error that it throws fails the
    /// authorization.
    public var authHeaders: (@Sendable () async throws -> [String: String])?
    /// A closure that returns form parameters for a request to an auth endpoint, in addition to those of the protocol.
    /// Called for each request.
    public var authParameters: (@Sendable () async throws -> [String: String])?
    /// The maximum number of channels in one call of a ``BatchAuthorizer``. Default: 2,500.
    public var maximumChannelsPerAuthRequest = 2500
    /// How ``PusherUser/signIn()`` proves the user's identity. Default: no method.
    public var userAuthMethod = UserAuthMethod.noMethod
    /// The timeout for the server's answer to a subscription. Default: 30 s.
    public var subscriptionTimeout = Duration.seconds(30)
    /// The maximum number of client events that wait for one channel's subscription, or in total for the rate limit.
    /// Default: 100.
    public var maximumUnsentEvents = 100
    /// The maximum number of client events sent in any second; further events wait. Servers accept 10 and reject the
    /// rest with 4301. `nil`, the default, sends at once.
    public var clientEventRateLimit: Int?
    /// The number of events waiting for slow callbacks at which the client stops reading the socket. Default: 10,000.
    public var maximumQueuedEvents = 10_000
    /// The bytes of events waiting for slow callbacks at which the client stops reading the socket. Default: 64 MiB.
    public var maximumQueuedBytes = 64 << 20

    /// Creates options for a client; every parameter has a default.
    public init(
        authMethod: AuthMethod = .noMethod, attemptToReturnJSONObject: Bool = true, autoReconnect: Bool = true,
        host: PusherHost = .defaultHost, port: Int? = nil, path: String? = nil, useTLS: Bool = true,
        activityTimeout: Double? = nil
    ) {
        self.authMethod = authMethod
        self.attemptToReturnJSONObject = attemptToReturnJSONObject
        self.autoReconnect = autoReconnect
        self.host = host
        self.port = port
        self.path = path
        self.useTLS = useTLS
        self.activityTimeout = activityTimeout
    }

    /// Creates options for the server at `url`, such as `https://example.org:6001/prefix`, with `http`, `https`, `ws`
    /// or `wss`. Everything else has its default; the application's key goes to ``Pusher/init(key:options:)``.
    ///
    /// - Throws: A ``PusherError`` of kind `invalidArgument` if `url` is not such a URL, or contains a name or
    ///   password.
    public init(url: String) throws(PusherError) {
        do throws(HostAddress.Mistake) {
            guard url.contains("://") else {
                throw HostAddress.Mistake(words: "is not a URL such as https://example.org")
            }
            _ = try HostAddress(url)
        } catch {
            let words = url.contains("@") ? "must not hold a name or a password" : error.words
            throw PusherError(.invalidArgument, "PusherClientOptions(url:): it \(words)")
        }
        self.init(host: .host(url))
    }
}

extension PusherClientOptions {
    /// These options with the URL of the host replaced by its parts.
    var resolved: PusherClientOptions {
        guard let address = host.address else { return self }
        var options = self
        options.host = .host(address.host)
        options.port = address.port ?? port
        options.path = address.path ?? path
        options.useTLS = address.usesTLS ?? useTLS
        return options
    }
}

extension PusherClientOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The server's host; never a secret, the master key or the proxy, which may have a password.
    public var description: String { "options for \(host.withoutPassword.stringValue)" }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror of the options that hold no secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "host": host.withoutPassword, "port": port as Any, "path": path as Any, "useTLS": useTLS,
                "authMethod": authMethod,
                "userAuthMethod": userAuthMethod, "autoReconnect": autoReconnect,
            ], displayStyle: .struct)
    }
}

extension PusherClientOptions {
    /// Creates options as in older versions.
    @available(*, deprecated, message: "say useTLS instead of encrypted")
    public init(
        authMethod: AuthMethod = .noMethod, attemptToReturnJSONObject: Bool = true, autoReconnect: Bool = true,
        host: PusherHost = .defaultHost, port: Int? = nil, encrypted: Bool, activityTimeout: Double? = nil
    ) {
        self.init(
            authMethod: authMethod, attemptToReturnJSONObject: attemptToReturnJSONObject, autoReconnect: autoReconnect,
            host: host, port: port, useTLS: encrypted, activityTimeout: activityTimeout)
    }

    /// Same as ``useTLS``.
    @available(*, deprecated, renamed: "useTLS")
    public var encrypted: Bool {
        get { useTLS }
        set { useTLS = newValue }
    }
}
