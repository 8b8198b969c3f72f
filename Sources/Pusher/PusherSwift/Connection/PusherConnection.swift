import Basics
import PusherProtocol
public import Realtime

/// The connection of a ``Pusher``. It stops with its `Pusher`, even if you keep a reference to it.
public final class PusherConnection: Sendable {
    let core: ClientCore

    init(_ core: ClientCore) {
        self.core = core
    }

    /// The application's key.
    public var key: String { core.key }

    /// The options that the client was created with.
    public var options: PusherClientOptions { core.options }

    /// The URL that the client connects to.
    public var url: String { core.read { $0.endpoint.url } }

    /// The current state. Callbacks may lag slightly behind.
    public var connectionState: ConnectionState { core.read { $0.connectionState } }

    /// The server's identifier of this connection; `nil` unless connected. Each connection has a new one.
    public var socketId: String? { core.read { $0.socketID?.string } }

    /// The durations of the steps of the current connection, or of the last attempt.
    public var steps: PusherConnectionSteps { core.read { PusherConnectionSteps($0.steps) } }

    /// The subscribed channels.
    public var channels: PusherChannels { PusherChannels(core) }

    /// An object that is notified of what happens. Held weakly: keep a reference to it. If it is released before the
    /// client has connected, the client logs a warning to ``PusherClientOptions/logger``, or else to the program's
    /// swift-log setup.
    public var delegate: (any PusherDelegate)? {
        get { core.callbacks.withLock { $0.delegate.delegate } }
        set { core.setDelegate(newValue) }
    }

    /// A closure that returns the user on presence channels, with ``AuthMethod/inline(secret:)``. Called on the
    /// callback queue. Without it, the user id is the socket id.
    public var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? {
        get { core.callbacks.withLock { $0.userDataFetcher } }
        set {
            // The old one is released after the lock.
            _ = core.callbacks.withLock { callbacks in
                defer { if !callbacks.isClosed { callbacks.userDataFetcher = newValue } }
                return callbacks.userDataFetcher
            }
        }
    }

    /// The number of retries since the last success; 0 when connected.
    public var reconnectAttempts: Int { core.read { $0.reconnectAttempts } }

    /// Retries before giving up, counted since a connection last held for 10 to 20 seconds; `nil` means no limit.
    public var reconnectAttemptsMax: Int? {
        get { core.read { $0.configuration.connection.reconnectAttemptsMax } }
        set { configure { $0.reconnectAttemptsMax = newValue } }
    }

    /// The longest wait before a retry, in seconds; 120 by default. `nil`, infinity and more than 100 years mean no
    /// limit. Negative values mean zero; NaN changes nothing.
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

    /// Seconds of silence after which the client pings the server, from the next connection on. Infinity, or more than
    /// 100 years, means never; anything below a millisecond means a millisecond; NaN changes nothing.
    public var activityTimeoutInterval: Double {
        get { core.read { $0.configuration.connection.activityTimeout.inSeconds } }
        set { configure { $0.activityTimeout = .timeout(seconds: newValue) ?? $0.activityTimeout } }
    }

    /// The timeout for the server's answer to a ping, in seconds; otherwise like ``activityTimeoutInterval``.
    public var pongResponseTimeoutInterval: Double {
        get { core.read { $0.configuration.connection.pongTimeout.inSeconds } }
        set { configure { $0.pongTimeout = .timeout(seconds: newValue) ?? $0.pongTimeout } }
    }

    /// See ``Pusher/connect()``.
    public func connect() { core.perform { machine, now in machine.connect(now: now) } }

    /// See ``Pusher/disconnect()``.
    public func disconnect() { core.perform { machine, now in machine.disconnect(now: now) } }

    /// Notifies the client of a change of the network. The client monitors the network itself; this is for programs
    /// that know more. If the network is lost, the client pings at once; if it returns, the client retries at once.
    public func networkChanged(isAvailable: Bool) {
        core.perform { machine, now in
            if isAvailable { machine.networkReturned(now: now) } else { machine.networkLost(now: now) }
        }
    }

    /// Pings the server.
    ///
    /// - Returns: The time until the answer.
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
            // A change may be older than this call, so check whether the connection is still open.
            if core.read({ $0.socketID }) != socketID { break }
        }
        try Task.checkCancellation()
        throw PusherError(.connectionLost, "the connection ended before the ping was answered")
    }

    /// The current state and every later one, in order. Buffers the newest 1,024 for a slow reader.
    public var states: EventSequence<ConnectionState> {
        core.states()
    }

    /// Returns the elements that `pick` selects from the client's notices.
    func observe<Element: Sendable>(
        _ pick: @escaping @Sendable (ClientMachine.Notice) -> Element?
    ) -> EventSequence<Element> {
        core.observe(nil, pick)
    }

    private func configure(_ change: @Sendable (inout ConnectionMachine.Configuration) -> Void) {
        core.perform { machine, _ in change(&machine.configuration.connection) }
    }
}
