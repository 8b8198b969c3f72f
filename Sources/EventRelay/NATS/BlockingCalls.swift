import Basics
import Dispatch
import Foundation

/// Calls of libnats that block, one after another on a thread of their own.
///
/// A queue of Dispatch would run them on many threads in turn: what one has allocated another would free, which makes libnats'
/// messages of many pieces dear.
final class BlockingCalls: Sendable {
    private let line: CallLine

    /// - Parameter name: Of the thread.
    init(_ name: String) { line = CallLine(name) }

    deinit { line.end() }

    /// What is handed over before this is let go of still runs.
    func run(_ job: @escaping @Sendable () -> Void) { line.add(job) }

    /// The same after a while.
    func run(after delay: Duration, _ job: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(delay.wholeNanoseconds))) { [weak self] in
            self?.run(job)
        }
    }
}

/// Jobs, and the thread that does them. It begins with the first one.
///
/// `@unchecked Sendable`: the condition protects the rest.
private final class CallLine: @unchecked Sendable {
    private enum Life {
        case idle, running, ended
    }

    private let condition = NSCondition()
    private let name: String
    private var jobs: [@Sendable () -> Void] = []
    private var life = Life.idle

    init(_ name: String) { self.name = name }

    func add(_ job: @escaping @Sendable () -> Void) {
        condition.withLock {
            jobs.append(job)
            condition.signal()
            guard case .idle = life else { return }
            life = .running
            let thread = Thread { [self] in work() }
            thread.name = name
            thread.start()
        }
    }

    func end() {
        condition.withLock {
            life = .ended
            condition.signal()
        }
    }

    private func work() {
        while let jobs = next() {
            for job in jobs { job() }
        }
    }

    /// Nil at the end, when all is done.
    private func next() -> [@Sendable () -> Void]? {
        condition.withLock {
            while jobs.isEmpty {
                guard case .running = life else { return nil }
                condition.wait()
            }
            defer { jobs = [] }
            return jobs
        }
    }
}
