public import Logging
public import Realtime

/// How a session behaves. The defaults are good.
public struct MXSessionOptions: Sendable {
    /// How long the server may wait for something to tell.
    public var pollTimeout: Duration = .seconds(30)
    /// How long nothing may come of the answer to a first sync, which the server may need long to make. While some of it
    /// comes, it may take any time. Default: 300 s.
    public var initialSyncTimeout: Duration = .seconds(300)
    /// How long nothing may come after a poll was late before the connection is given up. Default: 30 s.
    public var pongTimeout: Duration = .seconds(30)
    /// The wait before each attempt after a failure.
    public var reconnectPolicy = ReconnectPolicy.exponential(maximumDelay: .seconds(60))
    /// The shortest wait after an error of the homeserver's.
    package var errorDelay: Duration = .seconds(5)
    /// Events of each room that a sync brings at most; older ones are had by paginating.
    public var timelineLimit = 30
    /// The same of a first sync alone; nil is ``timelineLimit``.
    public var initialTimelineLimit: Int?
    /// Whether only those members come that are needed to show a room.
    public var lazyLoadsMembers = true
    /// Whether the user shows as online while the session runs.
    public var setsPresence = false
    /// How long a message is tried again when the network fails, before it counts as failed.
    public var sendRetryBound: Duration = .seconds(300)
    /// Whether the session encrypts: it reads encrypted rooms, and sends into them. Default: false. It needs a store that
    /// keeps keys, which ``MXFileStore`` and ``MXMemoryStore`` do; keys in memory are lost with it.
    public var enableCrypto = false
    /// Whether a device that has no keys yet gets some. Otherwise the session encrypts only where that was begun before.
    package var beginsEncryption = true
    /// Whether it gets some that are lost with the process: they would take the place of those in a store that cannot be
    /// opened just now.
    package var keepsKeysInMemory = true
    /// How long a call waits for keys that the homeserver is asked for: devices of users, one-time keys, backups. A message is
    /// then encrypted without the devices that are still missing; other calls fail.
    package var keyPatience: Duration = .seconds(10)
    /// How long the homeserver then has to take the keys of the message before sending fails.
    package var keySharingPatience: Duration = .seconds(20)
    /// Where bindings of the session are called. Listeners, callbacks and notifications have the REST client's
    /// ``MXRestClient/completionQueue``.
    public var callbackQueue = EventCallbackQueue.own
    /// Told at debug what was left out of the server's answers, and at warning when nothing is asked for any more since
    /// events are not taken.
    public var logger: Logger?

    /// The defaults.
    public init() {}
}
