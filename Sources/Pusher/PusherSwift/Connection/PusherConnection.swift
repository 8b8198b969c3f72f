import Basics
import PusherProtocol
public import Realtime

/// The connection of a ``Pusher``. It stops with its `Pusher`, whoever holds it.
public final class PusherConnection: Sendable {
    let core: ClientCore

    init(_ core: ClientCore) {
        self.core = core
    }

    /// The application's key.
    public var key: String { core.key }

    /// What the client was made with.
    public var options: PusherClientOptions { core.options }

    /// The URL that is connected to, or would be.
    public var url: String { core.read { $0.endpoint.url } }

    /// The present state. Callbacks may be a moment behind.
    public var connectionState: ConnectionState { core.read { $0.connectionState } }

    /// The server's name for this connection; nil unless connected. New with each connection.
    public var socketId: String? { core.read { $0.socketID?.string } }

    /// What the steps of the present connection, or of the last attempt, took.
    public var steps: PusherConnectionSteps { core.read { PusherConnectionSteps($0.steps) } }

    /// The subscribed channels.
    public var channels: PusherChannels { PusherChannels(core) }

    /// Told what happens. Held weakly: keep a reference to it. One that is gone before the client has been connected gets a
    /// warning in ``PusherClientOptions/logger``, or without one in the log that swift-log is set up for.
    public var delegate: (any PusherDelegate)? {
        get { core.callbacks.withLock { $0.delegate.delegate } }
        set { core.setDelegate(newValue) }
    }

    /// Says who the user is on presence channels, with ``AuthMethod/inline(secret:)``. Called on the callback queue.
    /// Without it the user id is the socket id.
    public var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? {
        get { core.callbacks.withLock { $0.userDataFetcher } }
        set {
            // The old one is let go of after the lock.
            _ = core.callbacks.withLock { callbacks in
                defer { if !callbacks.isClosed { callbacks.userDataFetcher = newValue } }
                return callbacks.userDataFetcher
            }
        }
    }

    /// Retries made since the last success; 0 when connected.
    public var reconnectAttempts: Int { core.read { $0.reconnectAttempts } }

    /// Retries before giving up, counted since a connection last held for 10 to 20 seconds; nil is endless.
    public var reconnectAttemptsMax: Int? {
        get { core.read { $0.configuration.connection.reconnectAttemptsMax } }
        set { configure { $0.reconnectAttemptsMax = newValue } }
    }

    /// The longest wait before a retry, in seconds; 120 by default. Nil, like infinity and more than 100 years, is no bound.
    /// Less than zero is zero; NaN changes nothing.
    public var maxReconnectGapInSeconds: Double? {
        get {
            let delay = core.read { $0.configuration.connection.reconnectPolicy.maximumDelay.bounded }
            return delay < .never ? delay.inSeconds : nil
        }
        set {
            configure { configuration in
                if let delay = Duration.bounded(seconds: newValue ?? .infinity) {
                    configuration.reconnectPolicy.maximumDelay = delay
                }
            }
        }
    }

    /// Seconds of silence after which the server is pinged, from the next connection on. Infinity, or more than 100 years,
    /// is never; anything below a millisecond is a millisecond; NaN changes nothing.
    public var activityTimeoutInterval: Double {
        get { core.read { $0.configuration.connection.activityTimeout.inSeconds } }
        set { configure { $0.activityTimeout = .timeout(seconds: newValue) ?? $0.activityTimeout } }
    }

    /// Seconds that the server may take to answer a ping; otherwise like ``activityTimeoutInterval``.
    public var pongResponseTimeoutInterval: Double {
        get { core.read { $0.configuration.connection.pongTimeout.inSeconds } }
        set { configure { $0.pongTimeout = .timeout(seconds: newValue) ?? $0.pongTimeout } }
    }

    /// See ``Pusher/connect()``.
    public func connect() { core.perform { machine, now in machine.connect(now: now) } }

    /// See ``Pusher/disconnect()``.
    public func disconnect() { core.perform { machine, now in machine.disconnect(now: now) } }

    /// Tells the client what the application knows of the network. The client watches it by itself; this is for
    /// programs that know more. Lost: pings at once. Returned: retries at once.
    public func networkChanged(isAvailable: Bool) {
        core.perform { machine, now in
            if isAvailable { machine.networkReturned(now: now) } else { machine.networkLost(now: now) }
        }
    }

    /// Pings the server.
    ///
    /// - Returns: How long the answer took.
    /// - Throws: ``PusherError`` if the client is not connected, or the connection ends before the answer;
    ///   `CancellationError` if the task is cancelled.
    public func ping() async throws -> Duration {
        let outcomes = core.observe { notice -> Duration?? in
            if case .pingAnswered(let latency) = notice { return .some(latency) }
            if case .stateChanged = notice { return .some(nil) }
            return nil
        }
        let (isUnderWay, socketID) = core.perform { machine, now in (machine.ping(now: now), machine.socketID) }
        guard isUnderWay else {
            let reason = socketID == nil ? "the client is not connected" : "events wait, and nothing is read meanwhile"
            throw PusherError(.connectionLost, "no ping was sent: \(reason)")
        }
        for await outcome in outcomes {
            if let latency = outcome { return latency }
            // A change may be older than this call: what counts is whether the connection is still there.
            if core.read({ $0.socketID }) != socketID { break }
        }
        try Task.checkCancellation()
        throw PusherError(.connectionLost, "the connection ended before the ping was answered")
    }

    /// The present state and every later one, in order. Keeps the newest 1,024 for a slow reader.
    public var states: EventSequence<ConnectionState> {
        core.states()
    }

    /// What `pick` makes of what the client tells.
    func observe<Element: Sendable>(
        _ pick: @escaping @Sendable (ClientMachine.Notice) -> Element?
    ) -> EventSequence<Element> {
        core.observe(nil, pick)
    }

    private func configure(_ change: @Sendable (inout ConnectionMachine.Configuration) -> Void) {
        core.perform { machine, _ in change(&machine.configuration.connection) }
    }
}
