/// Told what goes wrong with a session, and of new tokens. On the main thread.
@MainActor
public protocol MXSessionDelegate: AnyObject, Sendable {
    /// A sync failed. The session's state says whether it is tried again.
    func session(_ session: MXSession, didReceiveError error: any Error)

    /// The session has a new refresh token, which was saved by the REST client's handler.
    func session(_ session: MXSession, newRefreshToken refreshToken: String)
}

extension MXSessionDelegate {
    /// Nothing.
    public func session(_ session: MXSession, didReceiveError error: any Error) {}

    /// Nothing.
    public func session(_ session: MXSession, newRefreshToken refreshToken: String) {}
}
