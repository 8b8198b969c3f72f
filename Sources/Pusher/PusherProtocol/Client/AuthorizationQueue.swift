import Basics
import Realtime

/// The channels that wait for authorization, in order of arrival, and the pending requests. The owner limits their
/// number.
struct AuthorizationQueue: Sendable {
    private var waiting: [EventRouter.ChannelID] = []
    private var head = 0
    private var underWay: [AuthRequestID: EventRouter.ChannelID] = [:]
    private var deadlines = Deadlines<AuthRequestID>()
    private var lastRequest = 0

    var underWayCount: Int { underWay.count }

    var nextDeadline: MonotonicInstant? { deadlines.first }

    mutating func enqueue(_ channel: EventRouter.ChannelID) {
        waiting.append(channel)
    }

    mutating func popWaiting() -> EventRouter.ChannelID? {
        guard head < waiting.count else { return nil }
        defer {
            head += 1
            if head * 2 >= waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
        }
        return waiting[head]
    }

    mutating func begin(for channel: EventRouter.ChannelID, deadline: MonotonicInstant) -> AuthRequestID {
        let id = makeID()
        underWay[id] = channel
        deadlines.set(deadline, for: id)
        return id
    }

    mutating func makeID() -> AuthRequestID {
        lastRequest += 1
        return AuthRequestID(number: lastRequest)
    }

    func isUnderWay(_ request: AuthRequestID) -> Bool { underWay[request] != nil }

    /// Ends a request and returns the channel that waited for its answer; `nil` if none does any more.
    mutating func end(_ request: AuthRequestID) -> EventRouter.ChannelID? {
        deadlines.remove(request)
        return underWay.removeValue(forKey: request)
    }

    /// Returns a pending request that has timed out; the caller must still end it.
    mutating func popOverdue(now: MonotonicInstant) -> AuthRequestID? { deadlines.popDue(now: now)?.id }

    /// Removes everything and returns the pending requests.
    mutating func removeAll() -> [AuthRequestID] {
        defer {
            waiting = []
            head = 0
            underWay = [:]
            deadlines.removeAll()
        }
        return underWay.keys.sorted { $0.number < $1.number }
    }
}
