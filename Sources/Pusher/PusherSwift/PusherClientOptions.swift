public import Logging
import PusherProtocol
public import Realtime
public import Transport

/// Which server to connect to.
public enum PusherHost: Sendable, Hashable {
    /// A host name or address, or a URL such as `https://example.org:6001/prefix` with `http`, `https`, `ws` or `wss`. What a
    /// URL says of port, path and TLS takes the place of the options for these.
    case host(String)
    /// A cluster of Pusher Channels such as `eu` or `mt1`.
    case cluster(String)
    /// `ws.pusherapp.com`, the cluster `mt1`.
    case defaultHost

    /// The parts of a URL; nil for a host name, or for a URL that cannot be used.
    var address: HostAddress? {
        guard case .host(let text) = self, text.contains("://") else { return nil }
        return try? HostAddress(text)
    }

    /// The host, unless it is a URL with a password, with which no client connects.
    fileprivate var withoutPassword: PusherHost {
        if case .host(let text) = self, text.contains("@") { .host("a URL with a password") } else { self }
    }

    /// The host name that this stands for, or the URL as it was given.
    public var stringValue: String {
        switch self {
        case .host(let host): host
        case .cluster(let cluster): "ws-\(cluster).pusher.com"
        case .defaultHost: "ws.pusherapp.com"
        }
    }
}

/// The two forms of a ping, which mean the same.
public enum PusherPingForm: Sendable, Hashable {
    /// The event `pusher:ping`, which passes every proxy and is known to every server.
    case event
    /// A WebSocket ping frame, which says less.
    case controlFrame
}

/// Where the application's callbacks run.
public typealias PusherCallbackQueue = EventCallbackQueue

/// How a client connects, authorizes and bounds what it keeps.
public struct PusherClientOptions: Sendable {
    /// How private and presence channels are authorized. Default: not at all.
    public var authMethod: AuthMethod
    /// Whether `bind(eventName:callback:)` parses data that is JSON. Default: yes.
    public var attemptToReturnJSONObject: Bool
    /// Whether to connect again when the connection is lost. Default: yes.
    public var autoReconnect: Bool
    /// Default: `ws.pusherapp.com`.
    public var host: PusherHost
    /// Nil, the default, is 443 with TLS and 80 without.
    public var port: Int?
    /// A prefix before `/app/…`, for servers behind a reverse proxy. Default: none.
    public var path: String?
    /// Default: yes.
    public var useTLS: Bool
    /// Seconds of silence after which the server is pinged; nil, and NaN, mean 120. The server may ask for less. Infinity, or
    /// more than 100 years, is never, and anything below a millisecond is a millisecond.
    public var activityTimeout: Double?

    /// How the server is pinged. Both forms of its own pings are answered. Default: with an event.
    public var pingForm = PusherPingForm.event
    /// How long the server may take to answer a ping. Default: 30 s.
    public var pongTimeout = Duration.seconds(30)
    /// From name resolution to the end of the handshake. Default: 15 s.
    public var connectTimeout = Duration.seconds(15)
    /// Default: exponential with full jitter, 1 s to 120 s.
    public var reconnectPolicy = ReconnectPolicy.exponential()
    /// Retries before giving up, counted since a connection last held for 10 to 20 seconds; nil, the default, is endless.
    public var reconnectAttemptsMax: Int?
    /// A PEM file of authorities to trust instead of the system's.
    public var caFile: String?
    /// The one key that the server may have, instead of a certificate that an authority vouches for: neither who signed the
    /// certificate, nor its name and dates are looked at. Meant for development servers with a certificate of their own.
    /// Holds for the server at ``host`` and ``port``, and for auth endpoints at the same host and port; others are checked as
    /// without it. Without TLS the client does not connect. Default: none.
    public var pinnedKey: PublicKeyPin?
    /// `http://`, `https://`, `socks5://` or `socks5h://`, with `user:password@` if needed. Nil, the default: what the
    /// environment (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`) says. Empty: none.
    public var proxy: String?
    /// Header fields for the WebSocket handshake, such as a token that a gateway wants. Not sent to auth endpoints, and never
    /// logged. Names that are the handshake's own (`Host`, `Upgrade`, `Connection`, `Sec-WebSocket-…` and others of the
    /// connection), and values with line breaks, keep the client from connecting: it reports `couldNotConnect`. Default: none.
    public var handshakeHeaders: [String: String] = [:]
    /// Gets every text message of the WebSocket, in both directions, as it is on the wire, but for what signs or decrypts: see
    /// ``PusherWireMessage``. Runs on ``callbackQueue``, in order with the callbacks, each message before what it leads to.
    /// For development; nil, the default, costs nothing.
    public var wireTap: (@Sendable (PusherWireMessage) -> Void)?
    /// What to offer the server of message compression; nil, the default, is none.
    public var compression: PusherCompression?
    /// Default: a serial queue of the client's own.
    public var callbackQueue = PusherCallbackQueue.own
    /// Gets errors at `warning` and transitions at `debug`; nil, the default, logs nothing.
    public var logger: Logger?
    #if MetricsSupport
        /// Counts what happens; nil, the default, counts nothing.
        public var metrics: PusherMetrics?
    #else
        var metrics: PusherMetrics? { nil }
    #endif

    /// Bytes of one incoming message, decompressed. A larger one is dropped and reported, and the connection goes on; one
    /// that is 64 times as large closes it. A compressed message that is too large closes the connection once, see
    /// ``PusherCompression``. Default: 10 MiB.
    public var maximumMessageSize = 10 << 20
    /// Bytes of the server's answer to the WebSocket handshake. A longer one fails the connection attempt. Default: 16 KiB.
    public var maximumHandshakeSize = 16 << 10
    /// Bytes that may wait for a server that does not read. Beyond that the connection is given up, reported and opened
    /// again. Default: 16 MiB.
    public var maximumSendQueueSize = 16 << 20
    /// Bytes of an auth endpoint's answer. A longer one fails the authorization. Default: 1 MiB.
    public var maximumAuthAnswerSize = 1 << 20
    /// Requests for authorization under way at a time. Default: 8.
    public var maximumAuthRequests = 8
    /// Base64 of the 32 bytes from which the keys of encrypted channels are made, for ``AuthMethod/inline(secret:)``
    /// alone: like the secret it is for tests and tools, not for what others run.
    public var encryptionMasterKey: String?
    /// For one authorization, however it is made. Default: 30 s.
    public var authTimeout = Duration.seconds(30)
    /// How often an auth endpoint is asked again for the same thing after it could not be reached, did not answer within
    /// ``authTimeout``, or answered 429 or 5xx, each time after ``authRetryDelay``. Default: 2.
    public var maximumAuthRetries = 2
    /// Default: 1 s.
    public var authRetryDelay = Duration.seconds(1)
    /// Headers for every request to an auth endpoint, asked for each time, so that a token can be renewed. They take
    /// the place of our own of the same name. What it throws fails the authorization.
    public var authHeaders: (@Sendable () async throws -> [String: String])?
    /// Form parameters for every request to an auth endpoint beside those of the protocol, asked for each time.
    public var authParameters: (@Sendable () async throws -> [String: String])?
    /// Channels of one call of a ``BatchAuthorizer``. Default: 2,500.
    public var maximumChannelsPerAuthRequest = 2500
    /// How ``PusherUser/signIn()`` proves who the user is. Default: not at all.
    public var userAuthMethod = UserAuthMethod.noMethod
    /// For the server's answer to a subscription. Default: 30 s.
    public var subscriptionTimeout = Duration.seconds(30)
    /// Client events that wait for one channel's subscription, or all in all for the rate limit. Default: 100.
    public var maximumUnsentEvents = 100
    /// Client events sent in any second; more wait. Servers let 10 pass and reject the rest with 4301. Nil, the
    /// default, sends at once.
    public var clientEventRateLimit: Int?
    /// Events that wait for slow callbacks before the socket is not read any more. Default: 10,000.
    public var maximumQueuedEvents = 10_000
    /// Bytes of events that wait for slow callbacks before the socket is not read any more. Default: 64 MiB.
    public var maximumQueuedBytes = 64 << 20

    /// Options for a client; everything has a default.
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

    /// Options for the server at `url`, such as `https://example.org:6001/prefix`, with `http`, `https`, `ws` or `wss`.
    /// Everything else has its default; the application's key goes to ``Pusher/init(key:options:)``.
    ///
    /// - Throws: A ``PusherError`` of kind `invalidArgument` if it is no such URL, or holds a name or password.
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
    /// Where it connects to; never a secret, the master key or the proxy, which may have a password.
    public var description: String { "options for \(host.withoutPassword.stringValue)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// What holds no secrets.
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
    /// The form of older versions.
    @available(*, deprecated, message: "say useTLS instead of encrypted")
    public init(
        authMethod: AuthMethod = .noMethod, attemptToReturnJSONObject: Bool = true, autoReconnect: Bool = true,
        host: PusherHost = .defaultHost, port: Int? = nil, encrypted: Bool, activityTimeout: Double? = nil
    ) {
        self.init(
            authMethod: authMethod, attemptToReturnJSONObject: attemptToReturnJSONObject, autoReconnect: autoReconnect,
            host: host, port: port, useTLS: encrypted, activityTimeout: activityTimeout)
    }

    /// The same as ``useTLS``.
    @available(*, deprecated, renamed: "useTLS")
    public var encrypted: Bool {
        get { useTLS }
        set { useTLS = newValue }
    }
}
