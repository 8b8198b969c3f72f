package import Basics

/// Calls back on the I/O thread at a given time. Setting it again replaces the time; releasing it cancels.
@NetworkActor
package final class NetworkTimer {
    private let onFire: @NetworkActor () -> Void
    private let entry = Entry()

    package init(_ onFire: @escaping @NetworkActor () -> Void) {
        self.onFire = onFire
    }

    /// Runs on any thread. An entry that remains until the loop removes it calls nothing.
    deinit {
        NetworkActor.execute { [entry] in EventLoop.shared.cancel(entry) }
    }

    /// The number of timers set in the whole process.
    package static var countOfSet: Int { EventLoop.shared.timerCount }

    /// - Parameter deadline: The time, or nil to cancel. A time in the past fires at once.
    package func set(_ deadline: MonotonicInstant?) {
        guard let deadline else { return EventLoop.shared.cancel(entry) }
        entry.timer = self
        EventLoop.shared.schedule(entry, at: deadline)
    }

    func fired() { onFire() }

    /// Represents a timer among the loop's deadlines.
    @NetworkActor
    final class Entry: Hashable {
        weak var timer: NetworkTimer?

        nonisolated init() {}

        nonisolated static func == (lhs: Entry, rhs: Entry) -> Bool { lhs === rhs }

        nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
}
