import Basics
import Dispatch

/// What a client and its session tell the application on the completion queue: one after the other, in the order in which
/// it was added, also where that queue is a concurrent one. An answer cannot overtake the events that came before it.
package final class CompletionLine: Sendable {
    private let untold = Lock(SerialInbox<@Sendable () -> Void>())
    private let target = Lock(DispatchQueue.main)

    /// Delivers on the main queue until ``queue`` is set.
    package init() {}

    var queue: DispatchQueue {
        get { target.withLock { $0 } }
        set { target.exchange(newValue) }
    }

    package func add(_ body: @escaping @Sendable () -> Void) {
        let begins = untold.withLock { untold in
            untold.add(body)
            return untold.begin()
        }
        if begins { tellNext() }
    }

    /// One in each turn of the queue, which may serve others as well.
    private func tellNext() {
        queue.async {
            guard let next = self.untold.withLock({ $0.next() }) else { return }
            next()
            self.tellNext()
        }
    }
}
