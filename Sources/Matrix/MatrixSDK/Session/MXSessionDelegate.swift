/// Receives a session's errors and new tokens, on the main thread.
@MainActor
public protocol MXSessionDelegate: AnyObject, Sendable {
    /// Called when a sync failed. The session's state shows whether it is retried.
    func session(_ session: MXSession, didReceiveError error: any Error)

    /// Called when the session has a new refresh token, after the REST client's handler has saved it.
    func session(_ session: MXSession, newRefreshToken refreshToken: String)
}

extension MXSessionDelegate {
    /// Does nothing.
    public func session(_ session: MXSession, didReceiveError error: any Error) {}

    /// Does nothing.
    public func session(_ session: MXSession, newRefreshToken refreshToken: String) {}
}
