import Dispatch
import MatrixSDK
public import Realtime

/// A call under way. Its callback arrives on the client's `completionQueue`, exactly once, also after `cancel()`.
public typealias MXHTTPOperation = RequestOperation

extension RequestOperation {
    /// Runs `body`, and hands what it reports and gives to `completion` on `queue`; the last once.
    static func start<Value: Sendable>(
        on queue: DispatchQueue, _ completion: @escaping (MXProgress<Value>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> Value
    ) -> MXHTTPOperation {
        let callback = Callback(call: completion)
        // A concurrent queue would let the end overtake a progress.
        let line = DispatchQueue(label: "matrix.transfer", target: queue)
        let finish: (MXResponse<Value>) -> Void = { result in
            switch result {
            case .success(let value): callback.call(.success(value))
            case .failure(let error): callback.call(.failure(error))
            }
        }
        return start(on: line, finish) {
            try await body { progress in
                line.async { callback.call(.progress(Progress(progress))) }
            }
        }
    }

    /// Runs `body`, and hands what it gives to `completion` on `queue`, once.
    static func start<Value: Sendable>(
        on queue: DispatchQueue, _ completion: @escaping (MXResponse<Value>) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) -> MXHTTPOperation {
        let callback = Callback(call: completion)
        return start {
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
    }
}

/// `@unchecked Sendable`: the closure is only carried to the queue that it was made for, and called only there. Closures
/// of `@MainActor` classes are made on the main thread and come back to it.
private struct Callback<Value>: @unchecked Sendable {
    let call: (Value) -> Void
}

extension Progress {
    fileprivate convenience init(_ transfer: MXTransferProgress) {
        self.init(totalUnitCount: transfer.total ?? -1)
        completedUnitCount = transfer.completed
    }
}

extension MXRestClient {
    /// The callback form of a call.
    func operation<Value: Sendable>(
        _ completion: @escaping (MXResponse<Value>) -> Void, _ body: @escaping @Sendable () async throws -> Value
    ) -> MXHTTPOperation {
        MXHTTPOperation.start(on: completionQueue, completion, body)
    }

    /// The callback form of a call with a progress.
    func operation<Value: Sendable>(
        _ completion: @escaping (MXProgress<Value>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> Value
    ) -> MXHTTPOperation {
        MXHTTPOperation.start(on: completionQueue, completion, body)
    }
}
