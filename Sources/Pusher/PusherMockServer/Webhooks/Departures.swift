import Basics

/// Departures that are not reported yet: a user who returns right away has not left.
struct Departures {
    private let delay: Duration
    /// The departures, in order of leaving.
    private var waiting: [(event: WebhookEvent, due: MonotonicInstant)] = []

    init(delay: Duration) {
        self.delay = delay
    }

    var nextDeadline: MonotonicInstant? { waiting.first?.due }

    mutating func left(_ event: WebhookEvent, now: MonotonicInstant) {
        waiting.append((event, now + delay))
    }

    /// Cancels a departure. Returns whether it was still unreported, so that the return need not be reported either.
    mutating func takeBack(_ event: WebhookEvent) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.event == event }) else { return false }
        waiting.remove(at: index)
        return true
    }

    mutating func takeDue(now: MonotonicInstant) -> [WebhookEvent] {
        let due = waiting.prefix { $0.due <= now }.map(\.event)
        waiting.removeFirst(due.count)
        return due
    }
}
