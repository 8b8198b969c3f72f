import Basics

/// Departures that are not told yet: who left may come right back, and then nothing has happened.
struct Departures {
    private let delay: Duration
    /// In order of leaving.
    private var waiting: [(event: WebhookEvent, due: MonotonicInstant)] = []

    init(delay: Duration) {
        self.delay = delay
    }

    var nextDeadline: MonotonicInstant? { waiting.first?.due }

    mutating func left(_ event: WebhookEvent, now: MonotonicInstant) {
        waiting.append((event, now + delay))
    }

    /// Takes back a departure. Says whether it was still untold, so that the return is no news either.
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
