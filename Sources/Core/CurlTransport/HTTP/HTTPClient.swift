import Basics
package import Transport

/// Performs HTTP requests on the I/O thread. All requests of the process share kept-alive connections. HTTPS uses
/// HTTP/2 if the server supports it.
package enum HTTPClient {
    /// Starts a request.
    ///
    /// - Parameters:
    ///   - onProgress: Called on the I/O thread, occasionally and at the end of each direction.
    ///   - completion: Called once on the I/O thread, never before this returns, and not at all after
    ///     ``HTTPTask/cancel()``. Any status is a success.
    @NetworkActor
    package static func start(
        _ request: HTTPRequest, options: NetworkOptions, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil,
        completion: @escaping @NetworkActor (Result<HTTPResponse, TransportError>) -> Void
    ) -> HTTPTask {
        HTTPTask(request, options: options, onProgress: onProgress, completion: completion)
    }

    /// Performs a request. Cancelling the task cancels it.
    package static func send(
        _ request: HTTPRequest, options: NetworkOptions, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(TransportError) -> HTTPResponse {
        let pending = PendingRequest()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                NetworkActor.execute { pending.start(request, options: options, onProgress, continuation) }
            }
        } onCancel: {
            NetworkActor.execute { pending.cancel() }
        }
        return try result.get()
    }
}

/// A request with a waiting Swift task.
@NetworkActor
private final class PendingRequest {
    private var task: HTTPTask?
    private var continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>?
    private var isCancelled = false

    nonisolated init() {}

    func start(
        _ request: HTTPRequest, options: NetworkOptions, _ onProgress: (@Sendable (HTTPProgress) -> Void)?,
        _ continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>
    ) {
        self.continuation = continuation
        guard !isCancelled else { return cancel() }
        task = HTTPClient.start(request, options: options, onProgress: onProgress) { self.finish($0) }
    }

    func cancel() {
        isCancelled = true
        task?.cancel()
        finish(.failure(TransportError(.cancelled, "the request was cancelled")))
    }

    private func finish(_ result: Result<HTTPResponse, TransportError>) {
        continuation?.resume(returning: result)
        continuation = nil
        task = nil
    }
}
