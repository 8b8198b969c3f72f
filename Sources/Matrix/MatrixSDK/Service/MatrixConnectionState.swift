/// Whether what a ``MatrixServiceProtocol`` shows is up to date.
public enum MatrixConnectionState: Sendable, Hashable {
    /// Nothing is tried: not logged in, stopped, or logged out.
    case disconnected
    /// The first sync is under way, or the connection is being made again after a loss.
    case connecting
    /// What the homeserver has is here. Only after a first sync.
    case connected
    /// It does not go on by itself; in words for people.
    case error(String)
}
