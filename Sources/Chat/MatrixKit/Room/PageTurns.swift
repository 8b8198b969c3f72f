/// Runs one page request at a time, in order.
@MainActor
final class PageTurns {
    /// Whether a page request is running.
    private(set) var isRunning = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func run<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        if isRunning {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isRunning = true
        }
        defer {
            if waiting.isEmpty { isRunning = false } else { waiting.removeFirst().resume() }
        }
        return try await work()
    }
}
