import Dispatch
import Basics

/// Calls of libnats that block, one after another on a thread that is neither the I/O thread nor one of the application's.
final class BlockingCalls: Sendable {
    private let queue: DispatchQueue
    // Jobs cross to the queue through a lock, which ThreadSanitizer understands.
    private let jobs = Lock(SerialInbox<@Sendable () -> Void>())

    init(_ label: String) { queue = DispatchQueue(label: label) }

    func run(_ job: @escaping @Sendable () -> Void) {
        let isOurs = jobs.withLock { jobs in
            jobs.add(job)
            return jobs.begin()
        }
        guard isOurs else { return }
        queue.async { [self] in
            while let job = jobs.withLock({ $0.next() }) { job() }
        }
    }

    /// The same after a while.
    func run(after delay: Duration, _ job: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay.wholeNanoseconds))) { [weak self] in
            self?.run(job)
        }
    }
}
