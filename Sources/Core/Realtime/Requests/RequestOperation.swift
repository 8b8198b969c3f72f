import Basics

/// A call under way. It goes on without being held.
public final class RequestOperation: Sendable {
    private struct State {
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    private let state = Lock(State())

    package init() {}

    /// Runs `body`, which ``cancel()`` cancels.
    package static func start(_ body: sending @escaping @Sendable () async -> Void) -> RequestOperation {
        let operation = RequestOperation()
        let task = Task { await body() }
        operation.state.withLock { $0.task = task }
        return operation
    }

    /// Ends the call, its HTTP request included. Its callback is told so, unless it has been called. What the server has
    /// begun it may finish.
    public func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }
}
