import Basics

/// Lets one task after the other, in the order in which they come.
final class Turns: Sendable {
    /// A place in the line. The next come to their turn when it is done, or nothing holds it any more.
    final class Turn: Sendable {
        private let before: Task<Void, Never>?
        private let done: AsyncStream<Never>.Continuation

        fileprivate init(after before: Task<Void, Never>?, done: AsyncStream<Never>.Continuation) {
            (self.before, self.done) = (before, done)
        }

        deinit {
            done.finish()
        }

        /// Runs `body` when everything that came before is done. Once only.
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
        /// Turns that are not done.
        var count = 0
    }

    private let line = Lock(Line())

    /// Whether nothing is under way, and nothing waits.
    var isIdle: Bool { line.withLock { $0.count == 0 } }

    /// Takes the next place in the line: the order of these calls is that of the turns.
    func take() -> Turn {
        line.withLock { take(&$0) }
    }

    /// A turn if another one is active or pending; nil if none is.
    func takeUnlessIdle() -> Turn? {
        line.withLock { $0.count == 0 ? nil : take(&$0) }
    }

    private func take(_ line: inout Line) -> Turn {
        let (turn, done) = AsyncStream<Never>.makeStream()
        done.onTermination = { [weak self] _ in self?.line.withLock { $0.count -= 1 } }
        let before = line.last
        line.last = Task {
            // A turn that is released before it runs ends at once; what stands before it goes on.
            await before?.value
            for await _ in turn {}
        }
        line.count += 1
        return Turn(after: before, done: done)
    }

    /// Runs `body` when everything that came before is done.
    func inTurn<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await take().run(body)
    }
}
