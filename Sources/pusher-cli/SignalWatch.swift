import Dispatch
import Foundation

/// Ctrl-C and a polite kill end a command cleanly; a second one ends it at once.
final class SignalWatch {
    private static let numbers = [SIGINT, SIGTERM]

    private let sources: [any DispatchSourceSignal]

    init(_ onSignal: @escaping @Sendable () -> Void) {
        let registered = DispatchSemaphore(value: 0)
        sources = Self.numbers.map { number in
            signal(number, SIG_IGN)  // else the default action comes before the source
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                signal(number, SIG_DFL)
                onSignal()
            }
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            return source
        }
        for _ in sources { registered.wait() }  // a signal that comes earlier would be lost
    }

    /// Does the work, or leaves it when Ctrl-C or a polite kill comes; then it returns nil.
    static func interrupting<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                await wait { true }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Does work that is worth nothing unless it is finished.
    static func finishing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let value = try await interrupting(work) else {
            throw CommandFailure(.interrupted, "interrupted before it was done")
        }
        return value
    }

    /// From now on a signal ends the command at once.
    func cancel() {
        for source in sources { source.cancel() }
        for number in Self.numbers { signal(number, SIG_DFL) }
    }

    /// Returns at the first signal. `ready` is called once signals are awaited, and false from it returns at once.
    static func wait(ready: () -> Bool) async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = SignalWatch { continuation.yield() }
        if ready() {
            for await _ in signals { break }
        }
        watch.cancel()
    }
}
