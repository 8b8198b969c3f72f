import MatrixProtocol

extension MatrixServiceError {
    /// Returns the error that a caller of the service gets.
    ///
    /// - Parameter error: `CancellationError` stays unchanged.
    static func of(_ error: any Error) -> any Error {
        switch error {
        case is MatrixServiceError, is CancellationError: error
        case let error as MXError: of(error)
        case let error as MatrixError: of(error)
        default: MatrixServiceError.sdkError(error.localizedDescription)
        }
    }

    private static func of(_ error: MXError) -> MatrixServiceError {
        switch error.errcode {
        case kMXErrCodeStringUnknownToken, kMXErrCodeStringMissingToken: .notLoggedIn
        default: error.status >= 500 || error.status == 429 ? .network : .sdkError(error.description)
        }
    }

    private static func of(_ error: MatrixError) -> any Error {
        switch error.code {
        case .network, .timedOut: MatrixServiceError.network
        case .http: error.isRetryable ? MatrixServiceError.network : MatrixServiceError.sdkError(error.message)
        case .cancelled where Task.isCancelled: CancellationError()
        case .unauthenticated: MatrixServiceError.notLoggedIn
        case .roomNotFound: MatrixServiceError.roomNotFound
        case .badResponse, .cancelled, .tooLarge, .invalidArgument, .encryptionNotAvailable, .identityChanged,
            .interactionRequired,
            .eventNotFound, .store, .file:
            MatrixServiceError.sdkError(error.message)
        }
    }

    /// Runs `body`, mapping its errors to those that callers of the service expect.
    static func mapped<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw of(error)
        }
    }
}
