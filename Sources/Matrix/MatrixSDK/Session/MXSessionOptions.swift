public import Logging
public import Realtime

/// Options of a session. The defaults are good.
public struct MXSessionOptions: Sendable {
    /// How long the server may hold a poll when there is no news.
    public var pollTimeout: Duration = .seconds(30)
    /// The idle timeout of a first sync, whose answer the server may need long to create. The answer may take any time
    /// as long as data keeps arriving. Default: 300 s.
    public var initialSyncTimeout: Duration = .seconds(300)
    /// The idle time after an overdue poll before the connection is abandoned. Default: 30 s.
    public var pongTimeout: Duration = .seconds(30)
    /// The delay before each attempt after a failure.
    public var reconnectPolicy = ReconnectPolicy.exponential(maximumDelay: .seconds(60))
    /// The minimum delay after an error from the homeserver.
    package var errorDelay: Duration = .seconds(5)
    /// The maximum number of events per room in a sync; paginate for older ones.
    public var timelineLimit = 30
    /// Like ``timelineLimit``, but for the first sync only; `nil` uses ``timelineLimit``.
    public var initialTimelineLimit: Int?
    /// Whether to load only the members needed to show a room.
    public var lazyLoadsMembers = true
    /// Whether the user appears online while the session runs.
    public var setsPresence = false
    /// How long a message is retried when the network fails, before it counts as failed.
    public var sendRetryBound: Duration = .seconds(300)
    /// Whether the session encrypts: it reads encrypted rooms, and sends to them. Default: false. Requires a store that
    /// keeps keys, such as ``MXFileStore`` or ``MXMemoryStore``; keys in memory are lost with it.
    public var enableCrypto = false
    /// Whether to generate keys for a device that has none. Otherwise the session encrypts only if it has done so
    /// before.
    package var beginsEncryption = true
    /// Whether to generate keys that are lost with the process. They would replace those in a store that temporarily
    /// cannot be opened.
    package var keepsKeysInMemory = true
    /// How long a call waits for keys requested from the homeserver: devices of users, one-time keys, backups. A
    /// message is then encrypted without the missing devices; other calls fail.
    package var keyPatience: Duration = .seconds(10)
    /// How long the homeserver may then take to accept the message's keys before sending fails.
    package var keySharingPatience: Duration = .seconds(20)
    /// The queue on which the session's bindings are called. Listeners, callbacks and notifications use the REST
    /// client's ``MXRestClient/completionQueue``.
    public var callbackQueue = EventCallbackQueue.own
    /// Logs skipped parts of the server's answers at debug level, and at warning level that the session requests
    /// nothing more because events are not consumed.
    public var logger: Logger?

    /// Creates the default options.
    public init() {}
}
