import Basics
import PusherProtocol
import Transport

/// How a connection came about: what each step took, nil for one that has not been done (yet).
public struct PusherConnectionSteps: Sendable, Hashable {
    /// The numeric address that answered: the server's, or the proxy's.
    public let address: String?
    /// Name resolution.
    public let nameLookup: Duration?
    /// The TCP connection.
    public let tcp: Duration?
    /// The TLS handshake; nil without TLS.
    public let tls: Duration?
    /// The WebSocket handshake.
    public let webSocket: Duration?
    /// From there to the server's `pusher:connection_established`.
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
