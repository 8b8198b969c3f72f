import Basics
import Dispatch
import Foundation

/// Ends a command cleanly on Ctrl-C, SIGTERM or SIGHUP. A second signal ends it at once with
/// ``ExitStatus/interrupted``.
package final class SignalWatch {
    /// HUP is omitted if it is ignored from the start: `nohup` wants the command to continue.
    private static let numbers: [Int32] = {
        var action = sigaction()
        let isIgnored = sigaction(SIGHUP, nil, &action) == 0 && isIgnoring(action)
        return isIgnored ? [SIGINT, SIGTERM] : [SIGINT, SIGTERM, SIGHUP]
    }()

    /// `SIG_IGN` is the address 1; Swift cannot compare functions with it.
    private static func isIgnoring(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// The number of active watches. The last one to be cancelled restores the default signal actions.
    private static let watchCount = Lock(0)

    private let sources: [any DispatchSourceSignal]

    /// - Parameter count: The number of signals of one kind to handle before the next one ends the command at once.
    package init(taking count: Int = 1, _ onSignal: @escaping @Sendable () -> Void) {
        let registered = DispatchSemaphore(value: 0)
        let isFirst = Self.watchCount.withLock { count in
            count += 1
            return count == 1
        }
        sources = Self.numbers.map { number in
            // Otherwise the default action precedes the source. A second watch would undo what Dispatch has set for the
            // first.
            if isFirst { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number)
            let taken = Lock(0)
            source.setEventHandler {
                OutputPatience.limitWrites()
                let taken = taken.withLock { taken in
                    taken += 1
                    return taken
                }
                // Dispatch may still receive the next signal before the handler does.
                if taken > count { _exit(ExitStatus.interrupted.rawValue) }
                if taken == count { signal(number) { _ in _exit(ExitStatus.interrupted.rawValue) } }
                onSignal()
            }
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            return source
        }
        for _ in sources { registered.wait() }  // an earlier signal would be lost
    }

    /// Runs the work, or cancels it on a signal and returns `nil`.
    package static func interrupting<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        // Before the work begins, so that an early signal does not take its default action.
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = SignalWatch { continuation.yield() }
        defer { watch.cancel() }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                for await _ in signals { break }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Runs work that stops in an orderly way: the first signal calls `stop`, the second cancels the work, which can
    /// still report its progress.
    package static func stopping(
        _ stop: @escaping @Sendable () -> Void, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = SignalWatch(taking: 2) { continuation.yield() }
        defer { watch.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask {
                var isStopping = false
                for await _ in signals {
                    if isStopping { return }
                    stop()
                    isStopping = true
                }
            }
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Runs work that is useless unless it is completed.
    package static func finishing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let value = try await interrupting(work) else { throw CommandFailure.interrupted }
        return value
    }

    /// Lets signals end the command at once again, unless another watch is active.
    package func cancel() {
        for source in sources { source.cancel() }
        Self.watchCount.withLock { count in
            count -= 1
            guard count == 0 else { return }
            for number in Self.numbers { signal(number, SIG_DFL) }
        }
    }

    /// Returns at the first signal. Calls `ready` once it is waiting for signals, and returns at once if that returns
    /// false.
    package static func wait(ready: () -> Bool) async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = SignalWatch { continuation.yield() }
        if ready() {
            for await _ in signals { break }
        }
        watch.cancel()
    }
}
