import PusherProtocol

extension PusherMockServer {
    /// How a server listens and which applications it serves.
    public struct Configuration: Hashable, Sendable {
        /// At least one; ids and keys are unique. The first is meant wherever a call names no application.
        public var apps: [App]
        /// Address to bind. The default, `127.0.0.1`, is reachable from this machine only.
        public var host: String
        /// 0 takes any free port; ``PusherMockServer/port`` says which.
        public var port: Int
        /// Serves `wss` and `https` instead of `ws` and `http`.
        public var tls: TLS?
        /// Stands before `/app/{key}`, as behind a reverse proxy: `/ws` serves `/ws/app/{key}`. HTTP paths may have it.
        public var pathPrefix: String
        /// Whose frames and answers are imitated.
        public var profile: Profile
        /// Refuses a connection that names no protocol version (4008); otherwise it is served as version 7. Default: as the
        /// profile's server does. The vendor's refuses it, and unsupported versions too (4007); soketi and Reverb don't look.
        public var requiresProtocolVersion: Bool?
        /// Bytes of one incoming message or HTTP body. More closes with 1009, or answers 413.
        public var maximumMessageSize: Int
        /// Header fields that `/pusher/auth` and `/pusher/user-auth` insist on; they answer 403 when one is absent or different.
        public var requiredAuthHeaders: [String: String]
        /// Origins whose pages may use `/pusher/auth` and `/pusher/user-auth` in a browser, as `http://localhost:3000`; `*` is
        /// every origin, then without credentials. Pages of all others are refused (403). Default: none.
        public var allowedOrigins: [String]
        /// Names, without a port, by which clients may reach `/pusher/auth` and `/pusher/user-auth`; `*` is every name.
        /// IP addresses, `localhost`, names that end in `.localhost`, and ``host`` are always allowed. Any other name in a
        /// request's `Host` field is refused (403): it may be a web page's own, pointed at this server by its DNS (“DNS
        /// rebinding”). Default: none.
        public var allowedHosts: [String] = []
        /// How long a connection may take for one HTTP request, from its start or the previous answer to the request's last
        /// byte. It is closed within a quarter more than this. WebSockets are not affected. Default: 30 s.
        public var requestTimeout = Duration.seconds(30)
        /// Serves `/pusher/auth` and `/pusher/user-auth`, and nothing else: no WebSockets, no HTTP API.
        public var servesAuthOnly: Bool
        /// What the server does by itself.
        public var script: Script?
        /// Log entries kept for ``PusherMockServer/State/history``; the oldest are forgotten.
        public var historyLimit: Int
        /// Bytes of all those entries together. Default: 16 MiB.
        public var maximumHistorySize = 16 << 20
        /// Bytes that may wait for one client to read them; a client that falls further behind is dropped. Default: 32 MiB.
        public var maximumUnsentSize = 32 << 20
        /// Sends every message back instead of speaking Pusher's protocol, for tests of the WebSocket alone.
        package var echoesMessages = false

        /// Unless told otherwise: one application with default credentials, plain, on a free port of the loopback interface.
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

    /// Where the server's certificate chain and private key are, both PEM. Needs the package trait `MockServerTLS`: without
    /// it the server does not start.
    public struct TLS: Hashable, Sendable {
        /// Leaf first.
        public var certificatePath: String
        /// Of the leaf, not encrypted.
        public var privateKeyPath: String

        /// Files are read at the start.
        public init(certificatePath: String, privateKeyPath: String) {
            self.certificatePath = certificatePath
            self.privateKeyPath = privateKeyPath
        }
    }

    /// One application: who may use it, and what it allows.
    public struct App: Hashable, Sendable {
        /// The id of an application made without one. A number: some server libraries refuse anything else.
        public static let defaultID = "1"
        /// The key of an application made without one.
        public static let defaultKey = "app-key"
        /// The secret of an application made without one.
        public static let defaultSecret = "app-secret"
        /// The encryption master key of an application made without one: 32 bytes, 0 to 31.
        public static let defaultEncryptionMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

        /// Names the application in the HTTP API: `/apps/{id}`.
        public var id: String
        /// Names the application everywhere else.
        public var key: String
        /// Signs and checks.
        public var secret: String
        /// Base64 of 32 bytes, for encrypted channels: ``PusherMockServer/publish(event:channel:data:)`` encrypts with
        /// it, and `/pusher/auth` gives out the keys made from it. Default: ``defaultEncryptionMasterKey``. If it is nil,
        /// the application has no encrypted channels of its own, and what is published to one is passed on unchanged.
        public var encryptionMasterKey: String?
        /// A disabled application refuses connections (4003) and API calls (403).
        public var isEnabled: Bool
        /// Refuses plain connections (4000).
        public var requiresTLS: Bool
        /// Whether `client-` events are passed on.
        public var allowsClientEvents: Bool
        /// Client events that a connection may send in any second; one more is rejected with 4301.
        public var clientEventRateLimit: Int
        /// Tells subscribers of all but presence channels how many they are: `pusher_internal:subscription_count`.
        public var sendsSubscriptionCounts: Bool
        /// How long a cache channel keeps its last event.
        public var cacheLifetime: Duration
        /// How long a connection has to sign in or to subscribe to a private or presence channel, before it is closed
        /// with 4009 (“authorized connections”). Nil: it need not.
        public var authorizationTimeout: Duration?
        /// Nil: nothing is told to anybody.
        public var webhooks: Webhooks?
        /// Told to clients as `activity_timeout`, in seconds. Nil: as the profile does, 120 s or 30 s.
        public var activityTimeout: Duration?
        /// How long a client may be silent before the server pings it. Nil: ``activityTimeout``, if that is given,
        /// else as the profile does.
        public var pingAfter: Duration?
        /// How long a pinged client may stay silent before it is closed with 4201.
        public var pongTimeout: Duration

        /// An enabled application with client events, the profile's activity timeout and 30 s to answer a ping.
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
    /// Id and key, never the secret or the master key.
    public var description: String { "application \(id) with the key \(key)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Id and key.
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "key": key], displayStyle: .struct) }
}

extension PusherMockServer.Configuration {
    /// Finds what ``PusherMockServer/start(_:)`` cannot work with.
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
