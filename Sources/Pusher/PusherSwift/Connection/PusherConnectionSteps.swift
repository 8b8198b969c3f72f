import Basics
import PusherProtocol
import Transport

/// The duration of each step of opening a connection; `nil` for a step that has not happened (yet).
public struct PusherConnectionSteps: Sendable, Hashable {
    /// The numeric address that answered, of the server or the proxy.
    public let address: String?
    /// Name resolution.
    public let nameLookup: Duration?
    /// The TCP connection.
    public let tcp: Duration?
    /// The TLS handshake; `nil` without TLS.
    public let tls: Duration?
    /// The WebSocket handshake.
    public let webSocket: Duration?
    /// The time from the WebSocket handshake to the server's `pusher:connection_established`.
    public let established: Duration?

    init(_ steps: ConnectionSteps) {
        let network = steps.network
        address = network.flatMap { $0.address.isEmpty ? nil : $0.address }
        nameLookup = network?.nameLookup
        tcp = network?.connect.map { $0 - (network?.nameLookup ?? .zero) }
        tls = network?.tls.map { $0 - (network?.connect ?? .zero) }
        webSocket = steps.webSocket
        established = steps.established
    }
}
