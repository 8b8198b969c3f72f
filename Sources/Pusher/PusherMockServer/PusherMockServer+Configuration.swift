import PusherProtocol

extension PusherMockServer {
    /// The address and the applications of a server.
    public struct Configuration: Hashable, Sendable {
        /// The applications: at least one, with unique ids and keys. Calls that name no application use the first one.
        public var apps: [App]
        /// The address to bind. The default, `127.0.0.1`, is reachable from this machine only.
        public var host: String
        /// The port to bind. 0 picks any free port; see ``PusherMockServer/port``.
        public var port: Int
        /// The certificate to serve `wss` and `https` with, instead of `ws` and `http`.
        public var tls: TLS?
        /// A prefix before `/app/{key}`, as behind a reverse proxy: `/ws` serves `/ws/app/{key}`. HTTP paths may also
        /// have it.
        public var pathPrefix: String
        /// The server whose frames and answers are imitated.
        public var profile: Profile
        /// Whether to refuse a connection that names no protocol version (4008); otherwise it is served as version 7.
        /// Default: like the profile's server. The vendor's server refuses it, and also unsupported versions (4007);
        /// soketi and Reverb don't check.
        public var requiresProtocolVersion: Bool?
        /// The maximum bytes of one incoming message or HTTP body. The server closes with 1009, or answers 413, if
        /// there are more.
        public var maximumMessageSize: Int
        /// Header fields that `/pusher/auth` and `/pusher/user-auth` require; they answer 403 if one is absent or
        /// different.
        public var requiredAuthHeaders: [String: String]
        /// Origins whose pages may use `/pusher/auth` and `/pusher/user-auth` in a browser, such as
        /// `http://localhost:3000`; `*` allows every origin, without credentials. Pages of other origins are refused
        /// (403). Default: none.
        public var allowedOrigins: [String]
        /// Names, without a port, by which clients may reach `/pusher/auth` and `/pusher/user-auth`; `*` allows every
        /// name. IP addresses, `localhost`, names that end in `.localhost`, and ``host`` are always allowed. Any other
        /// name in a request's `Host` field is refused (403): it may be the name of a web page whose DNS points to this
        /// server (“DNS rebinding”). Default: none.
        public var allowedHosts: [String] = []
        /// The timeout of one HTTP request, from the connection's start or the previous answer to the request's last
        /// byte. The server closes the connection after at most a quarter more than this. WebSockets are not affected.
        /// Default: 30 s.
        public var requestTimeout = Duration.seconds(30)
        /// Whether to serve only `/pusher/auth` and `/pusher/user-auth`: no WebSockets, no HTTP API.
        public var servesAuthOnly: Bool
        /// Actions that the server takes automatically.
        public var script: Script?
        /// The number of log entries to keep for ``PusherMockServer/State/history``; the oldest are discarded.
        public var historyLimit: Int
        /// The maximum total bytes of those entries. Default: 16 MiB.
        public var maximumHistorySize = 16 << 20
        /// The maximum bytes to buffer for one client; a client that falls further behind is disconnected. Default: 32
        /// MiB.
        public var maximumUnsentSize = 32 << 20
        /// Whether to echo every message instead of speaking Pusher's protocol, for tests of the WebSocket alone.
        package var echoesMessages = false

        /// Creates a configuration. By default: one application with default credentials, without TLS, on a free port
        /// of the loopback interface.
        public init(
            apps: [App] = [App()], host: String = "127.0.0.1", port: Int = 0, tls: TLS? = nil,
            pathPrefix: String = "", profile: Profile = .vendor, requiresProtocolVersion: Bool? = nil,
            maximumMessageSize: Int = 1 << 20, requiredAuthHeaders: [String: String] = [:],
            allowedOrigins: [String] = [], servesAuthOnly: Bool = false,
            script: Script? = nil, historyLimit: Int = 4096
        ) {
            self.apps = apps
            self.host = host
            self.port = port
            self.tls = tls
            self.pathPrefix = pathPrefix
            self.profile = profile
            self.requiresProtocolVersion = requiresProtocolVersion
            self.maximumMessageSize = maximumMessageSize
            self.requiredAuthHeaders = requiredAuthHeaders
            self.allowedOrigins = allowedOrigins
            self.servesAuthOnly = servesAuthOnly
            self.script = script
            self.historyLimit = historyLimit
        }
    }

    /// The files of the server's certificate chain and private key, both PEM. Requires the package trait
    /// `MockServerTLS`: without it the server does not start.
    public struct TLS: Hashable, Sendable {
        /// The path of the certificate chain, leaf first.
        public var certificatePath: String
        /// The path of the leaf's private key, not encrypted.
        public var privateKeyPath: String

        /// Creates a TLS configuration. The server reads the files when it starts.
        public init(certificatePath: String, privateKeyPath: String) {
            self.certificatePath = certificatePath
            self.privateKeyPath = privateKeyPath
        }
    }

    /// One application: its credentials and settings.
    public struct App: Hashable, Sendable {
        /// The default id of an application. A number: some server libraries refuse anything else.
        public static let defaultID = "1"
        /// The default key of an application.
        public static let defaultKey = "app-key"
        /// The default secret of an application.
        public static let defaultSecret = "app-secret"
        /// The default encryption master key of an application: 32 bytes, 0 to 31.
        public static let defaultEncryptionMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

        /// The application's name in the HTTP API: `/apps/{id}`.
        public var id: String
        /// The application's name everywhere else.
        public var key: String
        /// The secret for signatures.
        public var secret: String
        /// Base64 of 32 bytes, for encrypted channels: ``PusherMockServer/publish(event:channel:data:)`` encrypts with
        /// it, and `/pusher/auth` returns the keys derived from it. Default: ``defaultEncryptionMasterKey``. If `nil`,
        /// the application has no encrypted channels of its own, and events published to one are forwarded unchanged.
        public var encryptionMasterKey: String?
        /// Whether the application is enabled. A disabled application refuses connections (4003) and API calls (403).
        public var isEnabled: Bool
        /// Whether to refuse connections without TLS (4000).
        public var requiresTLS: Bool
        /// Whether `client-` events are forwarded.
        public var allowsClientEvents: Bool
        /// The maximum number of client events that a connection may send in any second; further ones are rejected with
        /// 4301.
        public var clientEventRateLimit: Int
        /// Whether to send subscribers of all but presence channels their number: `pusher_internal:subscription_count`.
        public var sendsSubscriptionCounts: Bool
        /// The time for which a cache channel keeps its last event.
        public var cacheLifetime: Duration
        /// The time within which a connection must sign in or subscribe to a private or presence channel, before it is
        /// closed with 4009 (“authorized connections”). `nil` means no limit.
        public var authorizationTimeout: Duration?
        /// The application's webhooks; `nil` for none.
        public var webhooks: Webhooks?
        /// The `activity_timeout` sent to clients, in seconds. If `nil`, as in the profile: 120 s or 30 s.
        public var activityTimeout: Duration?
        /// The silence after which the server pings a client. If `nil`, ``activityTimeout`` if set, otherwise as in the
        /// profile.
        public var pingAfter: Duration?
        /// The time within which a client must answer a ping before it is closed with 4201.
        public var pongTimeout: Duration

        /// Creates an application. By default it is enabled, allows client events, and has the profile's activity
        /// timeout and 30 s to answer a ping.
        public init(
            id: String = Self.defaultID, key: String = Self.defaultKey, secret: String = Self.defaultSecret,
            encryptionMasterKey: String? = Self.defaultEncryptionMasterKey, isEnabled: Bool = true,
            requiresTLS: Bool = false,
            allowsClientEvents: Bool = true, clientEventRateLimit: Int = 10, sendsSubscriptionCounts: Bool = false,
            cacheLifetime: Duration = .seconds(30 * 60), authorizationTimeout: Duration? = nil,
            webhooks: Webhooks? = nil, activityTimeout: Duration? = nil, pingAfter: Duration? = nil,
            pongTimeout: Duration = .seconds(30)
        ) {
            self.id = id
            self.key = key
            self.secret = secret
            self.encryptionMasterKey = encryptionMasterKey
            self.isEnabled = isEnabled
            self.requiresTLS = requiresTLS
            self.allowsClientEvents = allowsClientEvents
            self.clientEventRateLimit = clientEventRateLimit
            self.sendsSubscriptionCounts = sendsSubscriptionCounts
            self.cacheLifetime = cacheLifetime
            self.authorizationTimeout = authorizationTimeout
            self.webhooks = webhooks
            self.activityTimeout = activityTimeout
            self.pingAfter = pingAfter
            self.pongTimeout = pongTimeout
        }
    }
}

extension PusherMockServer.App: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description by id and key, never the secret or the master key.
    public var description: String { "application \(id) with the key \(key)" }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror of id and key.
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "key": key], displayStyle: .struct) }
}

extension PusherMockServer.Configuration {
    /// Checks the configuration for errors before ``PusherMockServer/start(_:)``.
    func validate() throws(PusherMockServerError) {
        guard !apps.isEmpty else {
            throw PusherMockServerError(.invalidConfiguration, "a server needs at least one application")
        }
        for (name, values) in [("ids", apps.map(\.id)), ("keys", apps.map(\.key))]
        where Set(values).count < values.count {
            throw PusherMockServerError(.invalidConfiguration, "two applications have the same \(name)")
        }
        for app in apps {
            if let url = app.webhooks?.url, WebhookTarget(url) == nil {
                throw PusherMockServerError(
                    .invalidConfiguration,
                    "the webhook URL of application \(app.id) is not an absolute URL of http or https")
            }
            guard let masterKey = app.encryptionMasterKey else { continue }
            guard EncryptionMasterKey(base64: masterKey) != nil else {
                throw PusherMockServerError(
                    .invalidConfiguration,
                    "the encryption master key of application \(app.id) is not base64 of 32 bytes")
            }
        }
        guard pathPrefix.isEmpty || (pathPrefix.hasPrefix("/") && !pathPrefix.hasSuffix("/")) else {
            throw PusherMockServerError(
                .invalidConfiguration, "the path prefix must start with a slash and not end with one")
        }
        for origin in allowedOrigins where origin != "*" && WebOrigin(origin) == nil {
            throw PusherMockServerError(
                .invalidConfiguration, "an allowed origin is \(WebOrigin.form), or *; not \(origin)")
        }
        for host in allowedHosts where host != "*" && !BrowserGuard.isHost(host) {
            throw PusherMockServerError(
                .invalidConfiguration, "an allowed host is a name or an address without a port, or *; not \(host)")
        }
        guard requestTimeout > .zero else {
            throw PusherMockServerError(.invalidConfiguration, "requestTimeout must be positive")
        }
        guard (0...65535).contains(port) else {
            throw PusherMockServerError(.invalidConfiguration, "\(port) is not a port number")
        }
        guard (1...Int(UInt32.max)).contains(maximumMessageSize) else {
            throw PusherMockServerError(.invalidConfiguration, "maximumMessageSize must be 1 to 4294967295")
        }
    }
}
