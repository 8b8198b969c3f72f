import Basics
import MatrixProtocol

extension SessionCore {
    func failed(_ error: MXError, since: String?, filterId: String?) -> SyncDriver.SyncOutcome {
        switch error.errcode {
        case kMXErrCodeStringUnknownToken, kMXErrCodeStringMissingToken: return .failed(.unauthenticated, error)
        case kMXErrCodeStringForbidden where error.status == 401: return .failed(.unauthenticated, error)
        default: break
        }
        if since != nil, error.refusesSyncToken {
            // The server no longer knows the point of its stream: request everything again.
            try? forgetSyncToken()
        } else if let filterId, error.refusesFilter {
            state.withLock { if $0.filterId == filterId { $0.filterId = nil } }
            let told = MatrixError(
                .invalidArgument,
                "the homeserver does not take the filter \(filterId), and is asked without it: \(error)")
            return .failed(.refused(retryAfter: error.retryAfter), told)
        } else {
            let isDoubtful = state.withLock { state in
                guard let since else {
                    state.refusedPoint.forget()
                    return false
                }
                state.refusedPoint.refused(since, error)
                return state.refusedPoint.isDoubtful
            }
            // Then the catch-up token is in doubt, not the stored one.
            if isDoubtful, stopsCatchingUp() { state.withLock { $0.refusedPoint.forget() } }
        }
        return .failed(.refused(retryAfter: error.retryAfter), error)
    }

    func forgetSyncToken() throws(MatrixError) {
        try account.change { model, _ in
            model.forgetSyncToken()
            return nil
        }
    }

    /// Starts where the store ends instead of earlier. The events before that are not reported.
    ///
    /// - Returns: Whether it was to start earlier.
    func stopsCatchingUp() -> Bool {
        guard state.withLock({ $0.catchUpToken.take() }) != nil else { return false }
        tell(account.summaries.filter { $0.membership == .join }.map { .gap(roomId: $0.roomId) })
        return true
    }
}
