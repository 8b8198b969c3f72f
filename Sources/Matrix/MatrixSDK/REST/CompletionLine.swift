import Basics
import Dispatch

/// Everything a client and its session deliver on the completion queue: one at a time, in the order added, even if that
/// queue is concurrent. An answer cannot overtake the events that came before it.
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

    /// Delivers one item per turn of the queue, which may serve others as well.
    private func tellNext() {
        queue.async {
            guard let next = self.untold.withLock({ $0.next() }) else { return }
            next()
            self.tellNext()
        }
    }
}
