/// Runs the work, or throws `failure` when the time is over.
package func withDeadline<Value: Sendable>(
    _ duration: Duration, failure: @escaping @Sendable () -> CommandFailure,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await Task.sleep(for: duration)
            throw failure()
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
