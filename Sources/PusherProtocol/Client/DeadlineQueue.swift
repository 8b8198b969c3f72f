import Transport

/// Deadlines that come in order, because all of them are the same while away from the moment they were set.
struct DeadlineQueue<ID: Sendable>: Sendable {
    private var items: [(deadline: MonotonicInstant, id: ID)] = []
    private var head = 0

    var first: MonotonicInstant? { head < items.count ? items[head].deadline : nil }

    mutating func append(_ id: ID, deadline: MonotonicInstant) {
        items.append((deadline, id))
    }

    /// The next whose deadline has come.
    mutating func popDue(now: MonotonicInstant) -> (deadline: MonotonicInstant, id: ID)? {
        guard let first, first <= now else { return nil }
        defer {
            head += 1
            if head * 2 >= items.count {
                items.removeFirst(head)
                head = 0
            }
        }
        return items[head]
    }

    mutating func takeAll() -> ArraySlice<(deadline: MonotonicInstant, id: ID)> {
        defer { removeAll() }
        return items[head...]
    }

    mutating func removeAll() {
        items = []
        head = 0
    }
}
