import MatrixSDK
public import Realtime

/// A pending call. Its callback arrives on the client's `completionQueue` exactly once, even after `cancel()`, and
/// after the events that the call brought.
public typealias MXHTTPOperation = RequestOperation

extension RequestOperation {
    /// Runs `body`, and adds its progress and its result to the line of callbacks. The result is added once.
    static func start<Value: Sendable>(
        in line: CompletionLine, _ completion: @escaping (MXProgress<Value>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> Value
    ) -> MXHTTPOperation {
        let callback = Callback(call: completion)
        let finish: (MXResponse<Value>) -> Void = { result in
            switch result {
            case .success(let value): callback.call(.success(value))
            case .failure(let error): callback.call(.failure(error))
            }
        }
        return start(in: line, finish) {
            try await body { progress in
                line.add { callback.call(.progress(Progress(progress))) }
            }
        }
    }

    /// Runs `body`, and adds its result to the line of callbacks, once.
    static func start<Value: Sendable>(
        in line: CompletionLine, _ completion: @escaping (MXResponse<Value>) -> Void,
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
            line.add { callback.call(finished) }
            withExtendedLifetime(body) {}  // it holds the call's turn: the next call's answer comes after this one
        }
    }
}

/// `@unchecked Sendable`: the closure is only passed to the queue it was made for, and only called there. Closures of
/// `@MainActor` classes are created on the main thread and return to it.
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
    /// Runs the callback variant of a call.
    func operation<Value: Sendable>(
        _ completion: @escaping (MXResponse<Value>) -> Void, _ body: @escaping @Sendable () async throws -> Value
    ) -> MXHTTPOperation {
        MXHTTPOperation.start(in: completions, completion, body)
    }

    /// Runs the callback variant of a call with progress.
    func operation<Value: Sendable>(
        _ completion: @escaping (MXProgress<Value>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> Value
    ) -> MXHTTPOperation {
        MXHTTPOperation.start(in: completions, completion, body)
    }
}
