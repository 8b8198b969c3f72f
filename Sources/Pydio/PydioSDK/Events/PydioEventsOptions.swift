import PydioProtocol
public import Realtime

/// How a ``PydioWorkspaceEvents`` behaves. The defaults are good.
public struct PydioEventsOptions: Sendable {
    /// Between polls, where there is no WebSocket; a tenth more or less. At least 2 seconds. Nil, the default: as the server
    /// says, or else 15 seconds.
    public var pollInterval: Duration?
    /// Whether to take a WebSocket where the server offers one that may be told who the user is. Default: yes.
    public var usesWebSocket = true
    /// Whether to read the server's log of changes where it keeps one. Default: yes.
    public var usesChangesFeed = true
    /// Where to go on in the log of changes: ``PydioWorkspaceEvents/sequence`` of the last time. Nil, the default: nothing
    /// of what has happened before the start is told.
    public var sequence: Int64?
    /// Nodes that are remembered so that differences are found after a gap; of a workspace with more, gaps alone are told.
    /// 0 is never to list the workspace. Default: 100,000, which take about 20 MB.
    public var maximumNodes = 100_000
    /// Where bindings are called. Nil, the default: on the client's completion queue.
    public var callbackQueue: EventCallbackQueue?
    /// How long to wait after failures.
    public var reconnectPolicy = ReconnectPolicy.exponential(base: .seconds(2), maximumDelay: .seconds(60))

    /// For tests, which have no time.
    package var minimumPollInterval = Duration.seconds(2)
    package var feedInterval = Duration.seconds(60)
    package var mailboxLife = Duration.seconds(540)
    package var holdLimit = Duration.seconds(120)
    package var errorDelay = Duration.seconds(5)
    package var socketPolicy = ReconnectPolicy.exponential(base: .seconds(10), maximumDelay: .seconds(300))

    /// The defaults.
    public init() {}

    var loop: WorkspaceLoop.Configuration {
        var configuration = WorkspaceLoop.Configuration()
        configuration.pollInterval = pollInterval
        configuration.minimumPollInterval = minimumPollInterval
        configuration.feedInterval = feedInterval
        configuration.mailboxLife = mailboxLife
        configuration.holdLimit = holdLimit
        configuration.errorDelay = errorDelay
        configuration.connection.reconnectPolicy = reconnectPolicy
        configuration.socket.reconnectPolicy = socketPolicy
        configuration.usesFeed = usesChangesFeed
        configuration.usesWebSocket = usesWebSocket
        return configuration
    }

    func model(_ workspaceId: String) -> WorkspaceModel.Configuration {
        var configuration = WorkspaceModel.Configuration(workspaceId: workspaceId)
        configuration.maximumNodes = max(maximumNodes, 0)
        configuration.sequence = sequence
        return configuration
    }
}
