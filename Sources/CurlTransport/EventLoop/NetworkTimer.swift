package import Transport

/// Calls back on the I/O thread when a moment has come. Setting it again replaces the moment; letting go of it
/// cancels.
@NetworkActor
package final class NetworkTimer {
    private let onFire: @NetworkActor () -> Void
    private let entry = TimerHeap.Entry()

    package init(_ onFire: @escaping @NetworkActor () -> Void) {
        self.onFire = onFire
    }

    /// From any thread; what is left in the heap until the loop comes to this calls nobody.
    deinit {
        NetworkActor.execute { [entry] in EventLoop.shared.cancel(entry) }
    }

    /// How many timers are set, of the whole process.
    package static var countOfSet: Int { EventLoop.shared.timerCount }

    /// - Parameter deadline: Nil cancels. A moment that has passed fires at once.
    package func set(_ deadline: MonotonicInstant?) {
        guard let deadline else { return EventLoop.shared.cancel(entry) }
        entry.timer = self
        EventLoop.shared.schedule(entry, at: deadline)
    }

    func fired() { onFire() }
}

/// Deadlines of all timers that are set, the soonest first: one entry for each, which knows its place.
@NetworkActor
struct TimerHeap {
    @NetworkActor
    final class Entry {
        weak var timer: NetworkTimer?
        fileprivate(set) var deadline = MonotonicInstant(nanoseconds: .max)
        /// Nil while it is not in the heap.
        fileprivate var place: Int?

        nonisolated init() {}
    }

    private var entries: [Entry] = []

    var first: MonotonicInstant? { entries.first?.deadline }

    var count: Int { entries.count }

    /// Puts the entry in, or moves it.
    mutating func set(_ entry: Entry, to deadline: MonotonicInstant) {
        entry.deadline = deadline
        if entry.place == nil {
            entry.place = entries.count
            entries.append(entry)
        }
        settle(entry)
    }

    mutating func remove(_ entry: Entry) {
        guard let place = entry.place else { return }
        swap(place, entries.count - 1)
        entries.removeLast()
        entry.place = nil
        if place < entries.count { settle(entries[place]) }
    }

    mutating func popDue(now: MonotonicInstant) -> Entry? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        remove(first)
        return first
    }

    /// Moves the entry up or down until nothing above it is later, and nothing below it sooner.
    private mutating func settle(_ entry: Entry) {
        guard var place = entry.place else { return }
        while place > 0, entries[place].deadline < entries[(place - 1) / 2].deadline {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
        while true {
            var soonest = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].deadline < entries[soonest].deadline {
                soonest = child
            }
            guard soonest != place else { return }
            swap(place, soonest)
            place = soonest
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        (entries[one].place, entries[other].place) = (one, other)
    }
}
