import PydioProtocol
public import Realtime

/// Options for a ``PydioWorkspaceEvents``. The defaults fit most programs.
public struct PydioEventsOptions: Sendable {
    /// The interval between polls without a WebSocket, plus or minus a tenth. At least 2 seconds. `nil`, the default,
    /// uses the server's interval, or else 15 seconds.
    public var pollInterval: Duration?
    /// Whether to use a WebSocket if the server offers one that may receive the user's credentials. Default: yes.
    public var usesWebSocket = true
    /// Whether to read the server's change log if it has one. Default: yes.
    public var usesChangesFeed = true
    /// The position in the change log to continue from: the previous ``PydioWorkspaceEvents/sequence``. With `nil`, the
    /// default, changes before the start are not reported.
    public var sequence: Int64?
    /// The maximum number of nodes to remember for finding differences after a gap. For a larger workspace, only gaps
    /// are reported. With 0, the workspace is never listed. Default: 100,000, which take about 20 MB.
    public var maximumNodes = 100_000
    /// The queue on which bindings are called. `nil`, the default, uses the client's completion queue.
    public var callbackQueue: EventCallbackQueue?
    /// The delays between retries after failures.
    public var reconnectPolicy = ReconnectPolicy.exponential(base: .seconds(2), maximumDelay: .seconds(60))

    /// The shortest poll interval, lower in tests.
    package var minimumPollInterval = Duration.seconds(2)
    package var feedInterval = Duration.seconds(60)
    package var mailboxLife = Duration.seconds(540)
    package var holdLimit = Duration.seconds(120)
    package var errorDelay = Duration.seconds(5)
    package var socketPolicy = ReconnectPolicy.exponential(base: .seconds(10), maximumDelay: .seconds(300))

    /// Creates the default options.
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
