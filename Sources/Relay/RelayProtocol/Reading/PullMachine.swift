package import Basics
import Realtime

/// Reads a JetStream consumer by requesting as many messages as there is room for.
///
///     disconnected ─► preparing ─► reading ◄─► waiting for room
///                        ▲  └────► pausing │ silence, no leader, consumer gone
///                        └────────────┴────┘
///
/// A request is answered with messages, with heartbeats while there are none, and with a status at its end. Silence
/// means that the server or the consumer's leader is gone: the consumer is looked up again, and created again if
/// necessary.
package struct PullMachine: Machine {
    package struct Request: Hashable, Sendable {
        /// The part of the reply subject that identifies the request.
        package let number: Int
        package let batch: Int
        package let bytes: Int
    }

    package enum Action: Hashable, Sendable {
        /// Find or create the consumer. Answer with ``prepared(_:now:)`` or ``preparationFailed(_:mayRetry:now:)``.
        case prepare(_ attempt: Int)
        case request(Request)
    }

    private struct Open: Hashable, Sendable {
        let number: Int
        var remaining: Int
        var hasDelivered = false
        var lastHeard: MonotonicInstant
    }

    private enum State: Hashable, Sendable {
        case disconnected
        case preparing
        /// A short pause after a failure.
        case pausing(until: MonotonicInstant)
        /// Reading, without a request while there is no room.
        case reading(Open?)
        case ended
    }

    /// The default limit of messages that are waiting for readers or requested.
    package static let usualWindow = 256
    /// The limit in bytes.
    package static let windowBytes = 4 << 20
    package static let expiry = Duration.seconds(5)
    /// The interval of the server's heartbeats while there are no messages.
    package static let heartbeat = Duration.seconds(1)
    /// The duration of silence after which the server is considered gone.
    package static let silence = Duration.milliseconds(2500)

    private var state = State.disconnected
    private var actions: [Action] = []
    private var attempts = 0
    private var requests = 0
    private var failures = 0
    private var waiting = 0
    private var waitingBytes = 0
    private var isHeld = false

    private let window: Int

    /// - Parameter window: The limit of messages that are waiting for readers or requested. With fewer, workers share
    ///   messages more evenly.
    package init(window: Int = Self.usualWindow) { self.window = min(max(window, 1), Self.usualWindow) }

    // MARK: The consumer

    package mutating func connected(now: MonotonicInstant) {
        guard state == .disconnected else { return }
        prepare()
    }

    package mutating func disconnected(now: MonotonicInstant) {
        guard state != .ended else { return }
        state = .disconnected
    }

    /// - Returns: Whether the prepared consumer is used; the answer may come too late.
    @discardableResult
    package mutating func prepared(_ attempt: Int, now: MonotonicInstant) -> Bool {
        guard state == .preparing, attempt == attempts else { return false }
        state = .reading(nil)
        ask(now)
        return true
    }

    package mutating func preparationFailed(_ attempt: Int, mayRetry: Bool, now: MonotonicInstant) {
        guard state == .preparing, attempt == attempts else { return }
        if mayRetry { pause(now) } else { state = .ended }
    }

    /// Starts over, because a message of the stream is missing.
    package mutating func lostOrder(now: MonotonicInstant) {
        guard case .reading = state else { return }
        prepare()
    }

    package mutating func end() {
        state = .ended
        actions = []
    }

    // MARK: Incoming messages

    package mutating func delivered(bytes: Int, now: MonotonicInstant) {
        waiting += 1
        waitingBytes += bytes
        // It may belong to an earlier request that was given up too early.
        guard case .reading(var open?) = state else { return }
        failures = 0
        open.remaining -= 1
        open.hasDelivered = true
        open.lastHeard = now
        state = .reading(open.remaining > 0 ? open : nil)
        ask(now)
    }

    /// - Parameters:
    ///   - number: The number of the answered request.
    ///   - status: 100 is a heartbeat, 404 and 408 are normal ends; 409 has many reasons, such as a full batch; 503
    ///     means that nothing serves the consumer.
    package mutating func answered(_ number: Int, status: Int, now: MonotonicInstant) {
        guard case .reading(var open?) = state, open.number == number else { return }
        switch status {
        case 100:
            open.lastHeard = now
            state = .reading(open)
        case 404, 408:
            failures = 0
            state = .reading(nil)
            ask(now)
        case 409 where open.hasDelivered:
            state = .reading(nil)
            ask(now)
        default: pause(now)
        }
    }

    // MARK: Readers

    /// Reports that messages have left the buffer.
    package mutating func taken(_ count: Int, bytes: Int, now: MonotonicInstant) {
        waiting -= count
        waitingBytes -= bytes
        ask(now)
    }

    package mutating func hold(_ isHeld: Bool, now: MonotonicInstant) {
        self.isHeld = isHeld
        ask(now)
    }

    private mutating func ask(_ now: MonotonicInstant) {
        guard case .reading(nil) = state, !isHeld, waiting <= window / 2, waitingBytes <= Self.windowBytes / 2
        else { return }
        requests += 1
        let request = Request(
            number: requests, batch: window - waiting, bytes: Self.windowBytes - waitingBytes)
        state = .reading(Open(number: requests, remaining: request.batch, lastHeard: now))
        actions.append(.request(request))
    }

    // MARK: Failures and time

    private mutating func prepare() {
        state = .preparing
        attempts += 1
        actions = [.prepare(attempts)]
    }

    private mutating func pause(_ now: MonotonicInstant) {
        state = .pausing(until: now + .milliseconds(min(100 << failures, 2000)))
        failures = min(failures + 1, 5)
        actions = []
    }

    package var nextDeadline: MonotonicInstant? {
        switch state {
        case .pausing(let until): until
        case .reading(let open?): open.lastHeard + Self.silence
        case .disconnected, .preparing, .reading(nil), .ended: nil
        }
    }

    package mutating func timePassed(now: MonotonicInstant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        prepare()
    }

    package mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    package mutating func networkLost(now: MonotonicInstant) {}

    package mutating func networkReturned(now: MonotonicInstant) { timePassed(now: now) }
}
