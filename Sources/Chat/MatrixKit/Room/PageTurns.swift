/// One page at a time, in the order in which they are asked for.
@MainActor
final class PageTurns {
    /// Whether a page is under way.
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
