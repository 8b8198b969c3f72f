/// Whether the data shown by a ``MatrixServiceProtocol`` is up to date.
public enum MatrixConnectionState: Sendable, Hashable {
    /// Not trying to connect: not logged in, stopped, or logged out.
    case disconnected
    /// The first sync is pending, or the connection is being restored.
    case connecting
    /// Everything the homeserver has is here. Only after a first sync.
    case connected
    /// It does not continue automatically. The reason is human-readable.
    case error(String)
}
