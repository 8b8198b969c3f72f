import Basics
import MatrixProtocol

/// What a session does about a sync that the homeserver refuses.
extension SessionCore {
    func failed(_ error: MXError, since: String?, filterId: String?) -> SyncDriver.SyncOutcome {
        switch error.errcode {
        case kMXErrCodeStringUnknownToken, kMXErrCodeStringMissingToken: return .failed(.unauthenticated, error)
        case kMXErrCodeStringForbidden where error.status == 401: return .failed(.unauthenticated, error)
        default: break
        }
        if since != nil, error.refusesSyncToken {
            // A server that does not know the point of its stream any more: everything is asked for anew.
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
            // Not what is stored is in doubt then, but what lies behind it.
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

    /// Begins where the store ends, and not behind that. Nobody tells what lies between.
    ///
    /// - Returns: Whether it was to begin behind it.
    func stopsCatchingUp() -> Bool {
        guard state.withLock({ $0.catchUpToken.take() }) != nil else { return false }
        tell(account.summaries.filter { $0.membership == .join }.map { .gap(roomId: $0.roomId) })
        return true
    }
}
