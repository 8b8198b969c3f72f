import Transport

/// Lets one task after the other, in the order in which they come.
final class Turns: Sendable {
    private let last = Lock<Task<Void, Never>?>(nil)

    /// Runs `body` when everything that came before is done.
    func inTurn<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        let (turn, done) = AsyncStream<Never>.makeStream()
        let before = last.withLock { last -> Task<Void, Never>? in
            defer { last = Task { for await _ in turn {} } }
            return last
        }
        defer { done.finish() }
        await before?.value
        return try await body()
    }
}
