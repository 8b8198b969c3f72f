import PusherProtocol
import Basics

/// The webhooks of one application on their way: one request at a time and in order, repeated until it is taken.
struct WebhookQueue {
    /// How long a request is repeated.
    static let patience: Duration = .seconds(300)
    /// Events that wait while a request is repeated. The oldest ones beyond that are given up.
    static let maximumWaiting = 10_000

    enum Action: Hashable {
        case post(String)
        /// Ask again after this long.
        case wait(Duration)
        case none
    }

    private enum State {
        case idle
        case posting(Attempt)
        /// The last answer was a failure.
        case waiting(Attempt)
    }

    private struct Attempt {
        let body: String
        let start: MonotonicInstant
        var retryDelay: Duration
    }

    private let configuration: PusherMockServer.Webhooks
    private var state = State.idle
    private var events: [WebhookEvent] = []

    init(configuration: PusherMockServer.Webhooks) {
        self.configuration = configuration
    }

    /// - Parameter time: milliseconds since 1970.
    mutating func add(_ new: [WebhookEvent], now: MonotonicInstant, time: Int64) -> Action {
        events = Array((events + new).suffix(Self.maximumWaiting))
        return next(now: now, time: time)
    }

    /// - Parameter status: nil if there was no answer.
    mutating func answered(status: Int?, now: MonotonicInstant, time: Int64) -> Action {
        guard case .posting(var attempt) = state else { return .none }
        if let status, (200..<300).contains(status) {
            state = .idle
            return next(now: now, time: time)
        }
        let delay = attempt.retryDelay
        guard now + delay - attempt.start <= Self.patience else {
            state = .idle
            return next(now: now, time: time)
        }
        attempt.retryDelay = delay * 2
        state = .waiting(attempt)
        return .wait(delay)
    }

    mutating func waited() -> Action {
        guard case .waiting(let attempt) = state else { return .none }
        state = .posting(attempt)
        return .post(attempt.body)
    }

    private mutating func next(now: MonotonicInstant, time: Int64) -> Action {
        guard case .idle = state, !events.isEmpty else { return .none }
        let count = configuration.isBatching ? events.count : 1
        let body = JSONText.object([
            "time_ms": "\(time)", "events": JSONText.array(events.prefix(count).map(\.json)),
        ])
        events.removeFirst(count)
        state = .posting(Attempt(body: body, start: now, retryDelay: configuration.retryDelay))
        return .post(body)
    }
}
