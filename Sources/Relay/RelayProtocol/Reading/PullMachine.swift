package import Basics
import Realtime

/// Reads a consumer of JetStream by asking for messages, as many as there is room for.
///
///     disconnected ─► preparing ─► reading ◄─► waiting for room
///                        ▲  └────► pausing │ silence, no leader, consumer gone
///                        └────────────┴────┘
///
/// A request is answered with messages, heartbeats while there are none, and a status at its end. Silence means that the server
/// or the consumer's leader is gone: the consumer is looked for anew, and made anew if need be.
package struct PullMachine: Machine {
    /// A request for messages.
    package struct Request: Hashable, Sendable {
        /// Part of the subject that the answers come on.
        package let number: Int
        package let batch: Int
        package let bytes: Int
    }

    package enum Action: Hashable, Sendable {
        /// The consumer is to be found or made. To be answered with ``prepared(_:now:)`` or
        /// ``preparationFailed(_:mayRetry:now:)``.
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
        /// For a moment, after something went wrong.
        case pausing(until: MonotonicInstant)
        /// Without a request while there is no room.
        case reading(Open?)
        case ended
    }

    /// Messages that wait for readers, or are asked for, unless it is told otherwise.
    package static let usualWindow = 256
    /// The same in bytes.
    package static let windowBytes = 4 << 20
    /// How long a request lasts.
    package static let expiry = Duration.seconds(5)
    /// How often the server says that there is nothing.
    package static let heartbeat = Duration.seconds(1)
    /// After that much silence the server is gone.
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

    /// - Parameter window: Messages that wait for readers, or are asked for. Fewer are shared more evenly among workers.
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

    /// - Returns: Whether what was prepared is used; the answer may come too late.
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

    /// A message of the stream is missing: all is to be begun anew.
    package mutating func lostOrder(now: MonotonicInstant) {
        guard case .reading = state else { return }
        prepare()
    }

    /// Nothing more is asked for.
    package mutating func end() {
        state = .ended
        actions = []
    }

    // MARK: What comes

    package mutating func delivered(bytes: Int, now: MonotonicInstant) {
        waiting += 1
        waitingBytes += bytes
        // It may be of an earlier request, which was given up too early.
        guard case .reading(var open?) = state else { return }
        failures = 0
        open.remaining -= 1
        open.hasDelivered = true
        open.lastHeard = now
        state = .reading(open.remaining > 0 ? open : nil)
        ask(now)
    }

    /// - Parameters:
    ///   - number: Of the request that it answers.
    ///   - status: 100 is a heartbeat, 404 and 408 are the usual ends; 409 has many reasons, of which a full batch is one; 503
    ///     says that nobody serves the consumer.
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

    // MARK: Who reads

    /// Messages have left the buffer.
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
