package import Transport

/// Calls back on the I/O thread when a moment has come. Setting it again replaces the moment; letting go of it
/// cancels.
@NetworkActor
package final class NetworkTimer {
    private let onFire: @NetworkActor () -> Void
    private var deadline: MonotonicInstant?
    /// Tells the entry in the heap that counts from those that were replaced.
    private var generation = 0

    package init(_ onFire: @escaping @NetworkActor () -> Void) {
        self.onFire = onFire
    }

    /// - Parameter deadline: Nil cancels. A moment that has passed fires at once.
    package func set(_ deadline: MonotonicInstant?) {
        generation += 1
        self.deadline = deadline
        if let deadline { EventLoop.shared.schedule(self, at: deadline, generation: generation) }
    }

    func fired(generation: Int) {
        guard generation == self.generation, deadline != nil else { return }
        deadline = nil
        onFire()
    }
}

/// Deadlines of all timers, the soonest first. Entries of timers that were set anew or are gone stay until due.
struct TimerHeap {
    struct Entry {
        let deadline: MonotonicInstant
        weak var timer: NetworkTimer?
        let generation: Int
    }

    private var entries: [Entry] = []

    var first: MonotonicInstant? { entries.first?.deadline }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0, entries[child].deadline < entries[(child - 1) / 2].deadline {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func popDue(now: MonotonicInstant) -> Entry? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].deadline < entries[smallest].deadline {
                smallest = child
            }
            guard smallest != parent else { return first }
            entries.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
