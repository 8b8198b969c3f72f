import Basics
import Synchronization

/// The readers of sequences to wake once several events are available for them.
package final class ReaderWakeUps: Sendable {
    private let waiting = Lock<[@Sendable () -> Void]>([])
    private let isEmpty = Atomic(true)

    package init() {}

    func add(_ wakeUp: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.append(wakeUp) }
        isEmpty.store(false, ordering: .releasing)
    }

    /// Wakes the readers. Called before any other code of the application runs, which may wait for them, and after each
    /// batch.
    package func run() {
        guard !isEmpty.load(ordering: .acquiring) else { return }
        isEmpty.store(true, ordering: .releasing)
        let list = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for wakeUp in list { wakeUp() }
    }
}
