import Basics
import CurlTransport
import Dispatch

/// Calls of libnats that block, one after another on a thread of their own.
///
/// A queue of Dispatch would run them on several threads in turn, and what one has allocated another would free: glibc's malloc
/// makes that dear.
final class BlockingCalls: Sendable {
    private let line: CallLine

    /// - Parameter name: Of the thread.
    init(_ name: String) { line = CallLine(name) }

    /// What was handed over still runs.
    deinit { line.end() }

    func run(_ job: @escaping @Sendable () -> Void) { line.add(job) }

    /// The same after a while.
    func run(after delay: Duration, _ job: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(delay.wholeNanoseconds))) { [weak self] in
            self?.run(job)
        }
    }
}

/// Jobs, and the thread that does them, which begins with the first one.
private final class CallLine: Sendable {
    private struct State: Sendable {
        var jobs = SerialInbox<@Sendable () -> Void>()
        var hasThread = false
        var hasEnded = false
    }

    private let name: String
    private let state = Lock(State())
    /// Counts how often the thread has something new to look at.
    private let news = DispatchSemaphore(value: 0)

    init(_ name: String) { self.name = name }

    func add(_ job: @escaping @Sendable () -> Void) {
        let (isIdle, isFirst) = state.withLock { state in
            defer { state.hasThread = true }
            state.jobs.add(job)
            return (state.jobs.begin(), !state.hasThread)
        }
        if isIdle { news.signal() }
        guard isFirst, !NamedThread.start(name, { self.work() }) else { return }
        DispatchQueue(label: name).async { self.work() }  // Dispatch waits until the system has a thread
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        news.signal()
    }

    private func work() {
        repeat {
            news.wait()
            while true {
                // What a job holds is let go of outside of the lock: it may be the owner of this line.
                let jobs = state.withLock { $0.jobs.all() }
                guard !jobs.isEmpty else { break }
                for job in jobs { job() }
            }
        } while !state.withLock { $0.hasEnded }
    }
}
