import MatrixSDK
public import Realtime

/// A call under way. Its callback arrives on the client's `completionQueue`, exactly once, also after `cancel()`, and
/// after the events that the call brought.
public typealias MXHTTPOperation = RequestOperation

extension RequestOperation {
    /// Runs `body`, and adds what it reports and gives to the line of callbacks; the last once.
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

    /// Runs `body`, and adds what it gives to the line of callbacks, once.
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
        MXHTTPOperation.start(in: completions, completion, body)
    }

    /// The callback form of a call with a progress.
    func operation<Value: Sendable>(
        _ completion: @escaping (MXProgress<Value>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> Value
    ) -> MXHTTPOperation {
        MXHTTPOperation.start(in: completions, completion, body)
    }
}
