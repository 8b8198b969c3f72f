import Basics

/// Runs one task at a time, in the order they arrive.
final class Turns: Sendable {
    /// A place in the line. The next turn begins when this one is done or released.
    final class Turn: Sendable {
        private let before: Task<Void, Never>?
        private let done: AsyncStream<Never>.Continuation

        fileprivate init(after before: Task<Void, Never>?, done: AsyncStream<Never>.Continuation) {
            (self.before, self.done) = (before, done)
        }

        deinit {
            done.finish()
        }

        /// Runs `body` when all earlier turns are done. Call it only once.
        func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
            defer { done.finish() }
            return try await runWhileHeld(body)
        }

        /// Like ``run(_:)``, but the next turn begins only when this one is released: its holder can report the result first.
        func runWhileHeld<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
            await before?.value
            return try await body()
        }
    }

    private struct Line {
        var last: Task<Void, Never>?
        /// The number of unfinished turns.
        var count = 0
    }

    private let line = Lock(Line())

    /// Whether no turn is active or pending.
    var isIdle: Bool { line.withLock { $0.count == 0 } }

    /// Takes the next place in the line. Turns run in the order of these calls.
    func take() -> Turn {
        line.withLock { take(&$0) }
    }

    /// Returns a turn if another one is active or pending, otherwise `nil`.
    func takeUnlessIdle() -> Turn? {
        line.withLock { $0.count == 0 ? nil : take(&$0) }
    }

    private func take(_ line: inout Line) -> Turn {
        let (turn, done) = AsyncStream<Never>.makeStream()
        done.onTermination = { [weak self] _ in self?.line.withLock { $0.count -= 1 } }
        let before = line.last
        line.last = Task {
            // A turn released before it runs ends at once; the turns before it continue.
            await before?.value
            for await _ in turn {}
        }
        line.count += 1
        return Turn(after: before, done: done)
    }

    /// Runs `body` when all earlier turns are done.
    func inTurn<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await take().run(body)
    }
}
