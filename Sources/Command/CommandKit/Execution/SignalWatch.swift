import Basics
import Dispatch
import Foundation

/// Ctrl-C, a polite kill and a terminal that goes away end a command cleanly; a second signal ends it at once, with
/// ``ExitStatus/interrupted``.
package final class SignalWatch {
    /// Without HUP if that is ignored from the start: then `nohup` wants the command to go on.
    private static let numbers: [Int32] = {
        var action = sigaction()
        let isIgnored = sigaction(SIGHUP, nil, &action) == 0 && isIgnoring(action)
        return isIgnored ? [SIGINT, SIGTERM] : [SIGINT, SIGTERM, SIGHUP]
    }()

    /// `SIG_IGN` is the address 1, which Swift cannot compare functions for.
    private static func isIgnoring(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Watches that have not been cancelled: the last one gives the signals their default action back.
    private static let watchCount = Lock(0)

    private let sources: [any DispatchSourceSignal]

    /// - Parameter count: How many signals of a kind are taken before the next one ends the command at once.
    package init(taking count: Int = 1, _ onSignal: @escaping @Sendable () -> Void) {
        let registered = DispatchSemaphore(value: 0)
        let isFirst = Self.watchCount.withLock { count in
            count += 1
            return count == 1
        }
        sources = Self.numbers.map { number in
            // Else the default action comes before the source. A second watch would undo what Dispatch has set for the first.
            if isFirst { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number)
            let taken = Lock(0)
            source.setEventHandler {
                OutputPatience.limitWrites()
                let taken = taken.withLock { taken in
                    taken += 1
                    return taken
                }
                // Dispatch may still take the next one before that gets to a handler.
                if taken > count { _exit(ExitStatus.interrupted.rawValue) }
                if taken == count { signal(number) { _ in _exit(ExitStatus.interrupted.rawValue) } }
                onSignal()
            }
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            return source
        }
        for _ in sources { registered.wait() }  // a signal that comes earlier would be lost
    }

    /// Does the work, or leaves it when a signal comes; then it returns nil.
    package static func interrupting<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        // Before the work begins: a signal that comes at once must not take its default action.
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

    /// Does work that stops in good order: the first signal calls `stop`, the second cancels the work, which can still report
    /// how far it got.
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

    /// Does work that is worth nothing unless it is finished.
    package static func finishing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let value = try await interrupting(work) else { throw CommandFailure.interrupted }
        return value
    }

    /// From now on a signal ends the command at once, unless another watch is there.
    package func cancel() {
        for source in sources { source.cancel() }
        Self.watchCount.withLock { count in
            count -= 1
            guard count == 0 else { return }
            for number in Self.numbers { signal(number, SIG_DFL) }
        }
    }

    /// Returns at the first signal. `ready` is called once signals are awaited, and false from it returns at once.
    package static func wait(ready: () -> Bool) async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = SignalWatch { continuation.yield() }
        if ready() {
            for await _ in signals { break }
        }
        watch.cancel()
    }
}
