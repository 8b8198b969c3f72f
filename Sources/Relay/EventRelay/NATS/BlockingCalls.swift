import Basics
import CurlTransport
import Dispatch

/// Runs blocking calls of libnats in order on a dedicated thread.
///
/// A Dispatch queue would run them on several threads in turn, so that one thread frees the memory of another. This is
/// expensive with glibc's malloc.
final class BlockingCalls: Sendable {
    private let line: CallLine

    init(_ name: String) { line = CallLine(name) }

    /// Submitted jobs still run.
    deinit { line.end() }

    func run(_ job: @escaping @Sendable () -> Void) { line.add(job) }

    func run(after delay: Duration, _ job: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(delay.wholeNanoseconds))) { [weak self] in
            self?.run(job)
        }
    }
}

/// A queue of jobs and its thread, which starts with the first job.
private final class CallLine: Sendable {
    private struct State: Sendable {
        var jobs = SerialInbox<@Sendable () -> Void>()
        var hasThread = false
        var hasEnded = false
    }

    private let name: String
    private let state = Lock(State())
    /// Counts the events that the thread has not yet handled.
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
        DispatchQueue(label: name).async { self.work() }  // Dispatch waits until a thread is available
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        news.signal()
    }

    private func work() {
        repeat {
            news.wait()
            while true {
                // Objects retained by a job are released outside of the lock: one may be the owner of this line.
                let jobs = state.withLock { $0.jobs.all() }
                guard !jobs.isEmpty else { break }
                for job in jobs { job() }
            }
        } while !state.withLock { $0.hasEnded }
    }
}
