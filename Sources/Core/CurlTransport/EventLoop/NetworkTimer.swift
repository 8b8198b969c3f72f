package import Basics

/// Calls back on the I/O thread when a moment has come. Setting it again replaces the moment; letting go of it
/// cancels.
@NetworkActor
package final class NetworkTimer {
    private let onFire: @NetworkActor () -> Void
    private let entry = Entry()

    package init(_ onFire: @escaping @NetworkActor () -> Void) {
        self.onFire = onFire
    }

    /// From any thread; the entry that is left until the loop comes to this calls nobody.
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

    /// Stands for a timer among the loop's deadlines.
    @NetworkActor
    final class Entry: Hashable {
        weak var timer: NetworkTimer?

        nonisolated init() {}

        nonisolated static func == (lhs: Entry, rhs: Entry) -> Bool { lhs === rhs }

        nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
}
