import Basics
import PusherProtocol

/// The pending webhooks of one application.
///
/// First attempts are made in order, one at a time. A failed request is retried separately, and nothing waits for it.
struct WebhookQueue {
    /// The time for which a request is retried.
    static let patience: Duration = .seconds(300)
    /// The maximum number of events that wait for their first attempt. Beyond that the oldest are discarded.
    static let maximumWaiting = 10_000
    /// The maximum bytes of the requests that wait for a retry. Beyond that a failed request is discarded.
    static let maximumRetrySize = 16 << 20
    /// The maximum number of concurrent retries; more wait for one of them to end.
    static let maximumRetrying = 8

    typealias ID = Int

    enum Action: Hashable {
        case post(ID, String)
        /// Call `waited` for this request after this duration.
        case wait(ID, Duration)
    }

    private struct Request {
        let body: String
        let start: MonotonicInstant
        var retryDelay: Duration
    }

    private let configuration: PusherMockServer.Webhooks
    private var events: [WebhookEvent] = []
    /// Requests that have not been taken yet.
    private var requests: [ID: Request] = [:]
    /// The request whose first attempt has no answer yet.
    private var first: ID?
    private var retrying: Set<ID> = []
    /// The requests whose pause is over, but which wait for other retries to end.
    private var due: [ID] = []
    /// The bytes of all requests that have failed before.
    private var retrySize = 0
    private var lastID = 0

    init(configuration: PusherMockServer.Webhooks) {
        self.configuration = configuration
    }

    /// - Parameter time: milliseconds since 1970.
    mutating func add(_ new: [WebhookEvent], now: MonotonicInstant, time: Int64) -> [Action] {
        events = Array((events + new).suffix(Self.maximumWaiting))
        return next(now: now, time: time)
    }

    /// - Parameter status: `nil` if there was no answer.
    mutating func answered(_ id: ID, status: Int?, now: MonotonicInstant, time: Int64) -> [Action] {
        guard let request = requests[id] else { return [] }
        let isFirst = first == id
        if isFirst { first = nil } else { retrying.remove(id) }
        var actions: [Action] = []
        if let status, (200..<300).contains(status) {
            forget(id, failedBefore: !isFirst)
        } else if let delay = retry(id, request, isFirst: isFirst, now: now) {
            actions.append(.wait(id, delay))
        } else {
            forget(id, failedBefore: !isFirst)
        }
        return actions + next(now: now, time: time)
    }

    /// Handles the end of a request's pause.
    mutating func waited(_ id: ID) -> [Action] {
        guard requests[id] != nil else { return [] }
        due.append(id)
        return repetitions()
    }

    /// Returns the delay until a request is retried; `nil` if it is discarded.
    private mutating func retry(
        _ id: ID, _ request: Request, isFirst: Bool, now: MonotonicInstant
    ) -> Duration? {
        let delay = request.retryDelay
        guard now + delay - request.start <= Self.patience else { return nil }
        if isFirst {
            guard retrySize + request.body.utf8.count <= Self.maximumRetrySize else { return nil }
            retrySize += request.body.utf8.count
        }
        requests[id]?.retryDelay = delay * 2
        return delay
    }

    private mutating func forget(_ id: ID, failedBefore: Bool) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if failedBefore { retrySize -= request.body.utf8.count }
    }

    private mutating func next(now: MonotonicInstant, time: Int64) -> [Action] {
        repetitions() + firstAttempt(now: now, time: time)
    }

    private mutating func repetitions() -> [Action] {
        var actions: [Action] = []
        while !due.isEmpty, retrying.count < Self.maximumRetrying {
            let id = due.removeFirst()
            guard let request = requests[id] else { continue }
            retrying.insert(id)
            actions.append(.post(id, request.body))
        }
        return actions
    }

    private mutating func firstAttempt(now: MonotonicInstant, time: Int64) -> [Action] {
        guard first == nil, !events.isEmpty else { return [] }
        let count = configuration.isBatching ? events.count : 1
        let body = JSONText.object([
            "time_ms": "\(time)", "events": JSONText.array(events.prefix(count).map(\.json)),
        ])
        events.removeFirst(count)
        lastID += 1
        first = lastID
        requests[lastID] = Request(body: body, start: now, retryDelay: configuration.retryDelay)
        return [.post(lastID, body)]
    }
}
