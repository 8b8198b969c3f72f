/// A queue of deadlines, the soonest first. Each ID has at most one. Equal deadlines keep the order in which they were
/// set.
package struct Deadlines<ID: Hashable & Sendable>: Sendable {
    private struct Entry {
        let deadline: MonotonicInstant
        /// The number of the call of ``set(_:for:)``.
        let order: Int
        let id: ID

        func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline ? order < other.order : deadline < other.deadline
        }
    }

    /// Stored separately because other modules read it very often and cannot specialise generic code from here.
    package private(set) var first: MonotonicInstant?

    /// A binary heap: no entry precedes its parent, which is at `(index - 1) / 2`.
    private var entries: [Entry] = []
    private var indices: [ID: Int] = [:]
    private var lastOrder = 0

    package init() {}

    package var count: Int { entries.count }

    /// Sets the deadline of `id`, replacing any previous one.
    package mutating func set(_ deadline: MonotonicInstant, for id: ID) {
        defer { first = entries.first?.deadline }
        lastOrder += 1
        let entry = Entry(deadline: deadline, order: lastOrder, id: id)
        if let index = indices[id] {
            entries[index] = entry
            settle(index)
        } else {
            entries.append(entry)
            rise(entries.count - 1)
        }
    }

    package mutating func remove(_ id: ID) {
        guard let index = indices.removeValue(forKey: id) else { return }
        defer { first = entries.first?.deadline }
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        settle(index)
    }

    package mutating func popFirst() -> (deadline: MonotonicInstant, id: ID)? {
        guard let first = entries.first else { return nil }
        remove(first.id)
        return (first.deadline, first.id)
    }

    /// Removes and returns the soonest deadline if it is due.
    package mutating func popDue(now: MonotonicInstant) -> (deadline: MonotonicInstant, id: ID)? {
        guard let first, first <= now else { return nil }
        return popFirst()
    }

    package mutating func removeAll() {
        entries = []
        indices = [:]
        first = nil
    }

    // MARK: The heap

    /// Moves an entry just placed at `index` to where it belongs.
    private mutating func settle(_ index: Int) {
        if index > 0, entries[index].precedes(entries[(index - 1) / 2]) { rise(index) } else { sink(index) }
    }

    private mutating func rise(_ index: Int) {
        let entry = entries[index]
        var index = index
        while index > 0, entry.precedes(entries[(index - 1) / 2]) {
            place(entries[(index - 1) / 2], at: index)
            index = (index - 1) / 2
        }
        place(entry, at: index)
    }

    private mutating func sink(_ index: Int) {
        let entry = entries[index]
        var index = index
        while true {
            var child = 2 * index + 1
            if child + 1 < entries.count, entries[child + 1].precedes(entries[child]) { child += 1 }
            guard child < entries.count, entries[child].precedes(entry) else { return place(entry, at: index) }
            place(entries[child], at: index)
            index = child
        }
    }

    private mutating func place(_ entry: Entry, at index: Int) {
        entries[index] = entry
        indices[entry.id] = index
    }
}
