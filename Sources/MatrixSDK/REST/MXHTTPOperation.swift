import MatrixProtocol
import Transport

/// A call under way. It goes on without being held.
public final class MXHTTPOperation: Sendable {
    private struct State {
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    private let state = Lock(State())

    init() {}

    /// Ends the call, its HTTP request included. Its callback is told so, unless it has been called.
    public func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Runs `body`, and hands what it reports and gives to `completion` on `queue`; the last once.
    static func start<Value: Sendable>(
        on queue: DispatchQueue, _ completion: @escaping (MXProgress<Value>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> Value
    ) -> MXHTTPOperation {
        let callback = Callback(call: completion)
        let finish: (MXResponse<Value>) -> Void = { result in
            switch result {
            case .success(let value): callback.call(.success(value))
            case .failure(let error): callback.call(.failure(error))
            }
        }
        return start(on: queue, finish) {
            try await body { progress in
                queue.async { callback.call(.progress(progress.progress)) }
            }
        }
    }

    /// Runs `body`, and hands what it gives to `completion` on `queue`, once.
    static func start<Value: Sendable>(
        on queue: DispatchQueue, _ completion: @escaping (MXResponse<Value>) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) -> MXHTTPOperation {
        let operation = MXHTTPOperation()
        let callback = Callback(call: completion)
        let task = Task {
            let result: MXResponse<Value>
            do {
                result = .success(try await body())
            } catch is CancellationError {
                result = .failure(MatrixError.cancelled)
            } catch {
                result = .failure(error)
            }
            let finished = result
            queue.async { callback.call(finished) }
        }
        operation.state.withLock { $0.task = task }
        return operation
    }
}

/// `@unchecked Sendable`: the closure is only carried to the queue that it was made for, and called only there. Closures
/// of `@MainActor` classes are made on the main thread and come back to it.
private struct Callback<Value>: @unchecked Sendable {
    let call: (Value) -> Void
}
