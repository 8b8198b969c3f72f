/// The state of a client's connection to its server.
///
///     disconnected ─connect()─► connecting ─► connected ─disconnect()─► disconnecting ─► disconnected
///                                   ▲  │          │
///                          retry is │  ▼          ▼  attempt failed, or connection lost
///                          due      reconnecting
///
/// ``connected`` means that the protocol's handshake is done, not merely that a socket is open. In ``disconnected``,
/// nothing happens until you connect again. While a retry is pending, the state is ``reconnecting``.
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
