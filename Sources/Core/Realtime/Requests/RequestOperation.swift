import Basics

/// A pending call. It continues even if you don't keep a reference.
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

    /// Cancels the call, including its HTTP request, and reports that to the callback unless it was already called. The
    /// server may still complete what it has started.
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
