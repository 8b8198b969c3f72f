package import Basics
import Transport

/// The life of one connection as a value, without a socket, clock or task inside.
///
/// It decides when to open, ping, close and drop a transport, and when to try again. It never has two transports: it
/// opens a new one only in response to the end of the previous one. The protocol knows what a close code or an error
/// means and passes that in as a ``Disposition``.
///
/// It is part of other machines, not a ``Machine`` by itself. Each method returns its actions to the owner, which
/// immediately turns them into its own, adding what it knows of their cause.
package struct ConnectionMachine: Sendable {
    package struct Configuration: Hashable, Sendable {
        package var autoReconnect = true
        /// The number of retries without a stable connection (``ConnectionMachine/stableAfter``) before giving up; nil
        /// for no limit.
        package var reconnectAttemptsMax: Int?
        package var reconnectPolicy = ReconnectPolicy.exponential()
        /// The time from opening the transport, including name resolution, to the end of the protocol's handshake.
        package var connectTimeout = Duration.seconds(15)
        /// The silence before a ping. The smaller of this and the server's value applies.
        package var activityTimeout = Duration.seconds(120)
        /// The silence after a ping before the connection is given up.
        package var pongTimeout = Duration.seconds(30)

        package init() {}
    }

    /// Distinguishes a transport from its predecessors, whose late reports are ignored.
    package struct TransportID: Hashable, Sendable {
        package let number: Int

        package init(number: Int) {
            self.number = number
        }
    }

    /// The reaction to the end of a transport.
    package enum Disposition: Hashable, Sendable {
        case backOff(atLeast: Duration)
        case retryImmediately
        case stop
    }

    package enum Failure: Hashable, Sendable {
        case connectTimedOut
        case pongTimedOut
        /// The owner reported the end and so knows the reason.
        case transportEnded
    }

    package enum Next: Hashable, Sendable {
        case retry(after: Duration)
        case stop(StopReason)
    }

    package enum StopReason: Hashable, Sendable {
        case refused
        case autoReconnectIsOff
        case attemptsExhausted
    }

    package enum Action: Hashable, Sendable {
        case open(TransportID)
        /// Closes the connection cleanly. Report its end with ``transportEnded(_:disposition:now:)``.
        case close(TransportID)
        /// Drops the connection at once, without notifying the peer and without a report.
        case drop(TransportID)
        case ping(TransportID)
        case failed(Failure, next: Next)
        case changed(from: ConnectionState, to: ConnectionState)
    }

    private enum State {
        case disconnected
        case connecting(TransportID, deadline: MonotonicInstant)
        case connected(TransportID, Liveness)
        /// Closing; waiting for the transport's end.
        case disconnecting(TransportID)
        /// No transport; the next attempt is due at the given time.
        case reconnecting(at: MonotonicInstant)
    }

    private struct Liveness {
        /// The time from which the connection counts as stable.
        let stableFrom: MonotonicInstant
        let activityTimeout: Duration
        var lastHeard: MonotonicInstant
        /// Set while a ping is unanswered.
        var pongDeadline: MonotonicInstant?
        /// The owner has stopped reading on purpose, so silence proves nothing.
        var isReadingPaused = false
    }

    /// The number of consecutive immediate retries before the back-off applies.
    package static let maximumImmediateRetries = 2
    /// A connection counts as a success after a random time between this and twice this. Only then do the back-off and
    /// the immediate retries start again. This keeps clients from hammering a server that greets and then fails, and
    /// from reconnecting in step when it fails at a fixed age of a connection.
    package static let stableAfter = Duration.seconds(10)

    package var configuration: Configuration
    /// The retries since the last success or `connect()`; 0 during the first attempt and while connected.
    package var attempts: Int { connectionState == .connected ? 0 : failures }

    private var state = State.disconnected
    /// The failures since the last stable connection or `connect()`.
    private var failures = 0
    private var immediateRetries = 0
    private var lastTransport = 0
    private var jitter: JitterGenerator

    package init(configuration: Configuration, seed: UInt64) {
        self.configuration = configuration
        jitter = JitterGenerator(seed: seed)
    }

    package var connectionState: ConnectionState {
        switch state {
        case .disconnected: .disconnected
        case .connecting: .connecting
        case .connected: .connected
        case .disconnecting: .disconnecting
        case .reconnecting: .reconnecting
        }
    }

    package var transport: TransportID? {
        switch state {
        case .connecting(let id, _), .connected(let id, _), .disconnecting(let id): id
        case .disconnected, .reconnecting: nil
        }
    }

    /// Whether data from `id` still counts: it is the live transport, and no disconnect was requested.
    package func isReceiving(from id: TransportID) -> Bool {
        switch state {
        case .connecting(let live, _), .connected(let live, _): live == id
        case .disconnected, .disconnecting, .reconnecting: false
        }
    }

    /// The time at which ``timePassed(now:)`` is next needed. Activity only postpones it.
    package var nextDeadline: MonotonicInstant? {
        switch state {
        case .connecting(_, let deadline): deadline
        case .connected(_, let liveness):
            liveness.isReadingPaused
                ? nil : liveness.pongDeadline ?? liveness.lastHeard + liveness.activityTimeout
        case .reconnecting(let moment): moment
        case .disconnected, .disconnecting: nil
        }
    }

    // MARK: Requests from the application

    /// Connects, or retries now if a retry is pending. Does nothing when connecting or connected.
    package mutating func connect(now: MonotonicInstant) -> [Action] {
        switch state {
        case .connecting, .connected:
            return []
        case .disconnected, .reconnecting:
            return startOver(now: now)
        case .disconnecting(let id):  // the last request wins: don't wait for the old transport's end
            return [.drop(id)] + move(to: .disconnected) + startOver(now: now)
        }
    }

    /// Disconnects for good, whatever the current state.
    package mutating func disconnect() -> [Action] {
        switch state {
        case .disconnected, .disconnecting:
            return []
        case .connecting(let id, _):
            return [.drop(id)] + move(to: .disconnected)
        case .connected(let id, _):
            return move(to: .disconnecting(id)) + [.close(id)]
        case .reconnecting:
            return move(to: .disconnected)
        }
    }

    /// Ends everything at once, because the owner is going away.
    package mutating func shutDown() -> [Action] {
        let drop = transport.map { [Action.drop($0)] } ?? []
        return drop + move(to: .disconnected)
    }

    // MARK: Reports from the transport

    /// Reports that the protocol's handshake succeeded.
    /// - Parameter activityTimeout: The server's activity timeout, if any.
    package mutating func established(_ id: TransportID, activityTimeout: Duration?, now: MonotonicInstant) -> [Action]
    {
        guard case .connecting(id, _) = state else { return [] }  // a late report
        let silence = min(configuration.activityTimeout, activityTimeout ?? configuration.activityTimeout)
        let stableFrom = now + Self.stableAfter * Double.random(in: 1...2, using: &jitter)
        return move(to: .connected(id, Liveness(stableFrom: stableFrom, activityTimeout: silence, lastHeard: now)))
    }

    /// Reports that data was received.
    package mutating func heard(_ id: TransportID, now: MonotonicInstant) {
        guard case .connected(id, var liveness) = state else { return }
        liveness.lastHeard = now
        liveness.pongDeadline = nil
        state = .connected(id, liveness)
    }

    /// Reports that a message that expects an answer was only sent now. Silence counts from here.
    package mutating func asked(_ id: TransportID, now: MonotonicInstant) {
        switch state {
        case .connecting(id, _): state = .connecting(id, deadline: now + configuration.connectTimeout)
        case .connected(id, var liveness):
            liveness.lastHeard = now
            if liveness.pongDeadline != nil { liveness.pongDeadline = now + configuration.pongTimeout }
            state = .connected(id, liveness)
        case .disconnected, .connecting, .connected, .disconnecting, .reconnecting: break
        }
    }

    /// Reports that part of an expected message arrived, including the one that leads to
    /// ``established(_:activityTimeout:now:)``. It may take any time as long as data keeps arriving.
    package mutating func progressed(_ id: TransportID, now: MonotonicInstant) {
        if case .connecting(id, _) = state {
            state = .connecting(id, deadline: now + configuration.connectTimeout)
        } else {
            heard(id, now: now)
        }
    }

    /// Reports that the owner stops or resumes reading. While it does not read, silence is not held against the peer.
    package mutating func readingPaused(_ isPaused: Bool, now: MonotonicInstant) {
        guard case .connected(let id, var liveness) = state, liveness.isReadingPaused != isPaused else { return }
        liveness.isReadingPaused = isPaused
        liveness.lastHeard = now
        liveness.pongDeadline = nil
        state = .connected(id, liveness)
    }

    /// Reports that the transport ended or is useless. A live transport is dropped.
    package mutating func transportEnded(
        _ id: TransportID, isAlive: Bool = false, disposition: Disposition, now: MonotonicInstant
    ) -> [Action] {
        let drop: [Action] = isAlive ? [.drop(id)] : []
        switch state {
        case .connecting(id, _), .connected(id, _):
            return drop + fail(.transportEnded, disposition: disposition, now: now)
        case .disconnecting(id):
            return drop + move(to: .disconnected)
        case .disconnected, .reconnecting, .connecting, .connected, .disconnecting:
            return []  // a late report of an abandoned transport
        }
    }

    // MARK: Time and network

    package mutating func timePassed(now: MonotonicInstant) -> [Action] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        switch state {
        case .connecting(let id, _):
            return [.drop(id)] + fail(.connectTimedOut, disposition: .backOff(atLeast: .zero), now: now)
        case .connected(let id, let liveness) where liveness.pongDeadline == nil:
            return ping(id, liveness, now: now)
        case .connected(let id, _):
            return [.drop(id)] + fail(.pongTimedOut, disposition: .retryImmediately, now: now)
        case .reconnecting:
            return open(now: now)
        case .disconnected, .disconnecting:
            return []
        }
    }

    /// Reports that the system lost its network. Checks at once whether the connection is still alive.
    package mutating func networkLost(now: MonotonicInstant) -> [Action] {
        guard case .connected(let id, let liveness) = state, liveness.pongDeadline == nil, !liveness.isReadingPaused
        else { return [] }
        return ping(id, liveness, now: now)
    }

    /// Reports that the system has a network again, or a different one. Doesn't wait for a retry or for packets that
    /// may be lost.
    package mutating func networkReturned(now: MonotonicInstant) -> [Action] {
        switch state {
        case .connected:
            return networkLost(now: now)
        case .reconnecting, .connecting:
            guard immediateRetries < Self.maximumImmediateRetries else { return [] }
            immediateRetries += 1
            let drop = transport.map { [Action.drop($0)] } ?? []
            return drop + open(now: now)
        case .disconnected, .disconnecting:
            return []
        }
    }

    // MARK: Steps

    private mutating func startOver(now: MonotonicInstant) -> [Action] {
        failures = 0
        immediateRetries = 0
        return open(now: now)
    }

    private mutating func open(now: MonotonicInstant) -> [Action] {
        lastTransport += 1
        let id = TransportID(number: lastTransport)
        return move(to: .connecting(id, deadline: now + configuration.connectTimeout)) + [.open(id)]
    }

    private mutating func ping(_ id: TransportID, _ liveness: Liveness, now: MonotonicInstant) -> [Action] {
        var liveness = liveness
        liveness.pongDeadline = now + configuration.pongTimeout
        state = .connected(id, liveness)
        return [.ping(id)]
    }

    private mutating func fail(_ failure: Failure, disposition: Disposition, now: MonotonicInstant) -> [Action] {
        if case .connected(_, let liveness) = state, now >= liveness.stableFrom {
            (failures, immediateRetries) = (0, 0)
        }
        switch next(after: disposition) {
        case .retry(let delay):
            failures += 1
            return [.failed(failure, next: .retry(after: delay))] + move(to: .reconnecting(at: now + delay))
        case .stop(let reason):
            return [.failed(failure, next: .stop(reason))] + move(to: .disconnected)
        }
    }

    private mutating func next(after disposition: Disposition) -> Next {
        let shortest: Duration
        switch disposition {
        case .stop: return .stop(.refused)
        case .retryImmediately: shortest = .zero
        case .backOff(let atLeast): shortest = atLeast
        }
        guard configuration.autoReconnect else { return .stop(.autoReconnectIsOff) }
        if let limit = configuration.reconnectAttemptsMax, failures >= limit { return .stop(.attemptsExhausted) }
        if disposition == .retryImmediately, immediateRetries < Self.maximumImmediateRetries {
            immediateRetries += 1
            return .retry(after: .zero)
        }
        return .retry(after: max(shortest, configuration.reconnectPolicy.delay(attempt: failures, using: &jitter)))
    }

    private mutating func move(to new: State) -> [Action] {
        let old = connectionState
        state = new
        return old == connectionState ? [] : [.changed(from: old, to: connectionState)]
    }
}
