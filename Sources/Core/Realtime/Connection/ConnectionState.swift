/// Where a client stands with its server.
///
///     disconnected ─connect()─► connecting ─► connected ─disconnect()─► disconnecting ─► disconnected
///                                   ▲  │          │
///                          retry is │  ▼          ▼  attempt failed, or connection lost
///                          due      reconnecting
///
/// ``connected`` means that the protocol's handshake is done, not merely that a socket is open. ``disconnected`` is
/// at rest: nothing happens by itself any more. While a retry is being waited for the state is ``reconnecting``.
public enum ConnectionState: Int, Sendable, CaseIterable {
    case connecting = 0
    case connected = 1
    case disconnecting = 2
    case disconnected = 3
    case reconnecting = 4

    /// The name of the case.
    public func stringValue() -> String {
        switch self {
        case .connecting: "connecting"
        case .connected: "connected"
        case .disconnecting: "disconnecting"
        case .disconnected: "disconnected"
        case .reconnecting: "reconnecting"
        }
    }
}
