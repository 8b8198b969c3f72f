package import Basics
package import Transport

/// The duration of each step of a connection attempt.
package struct ConnectionSteps: Hashable, Sendable {
    package let startedAt: MonotonicInstant?
    private var openedAt: MonotonicInstant?
    /// The times of the network connection below the WebSocket.
    package internal(set) var network: ConnectionTimes?
    /// The duration of the WebSocket handshake alone.
    package private(set) var webSocket: Duration?
    /// The time from the WebSocket handshake to `pusher:connection_established`.
    package private(set) var established: Duration?

    package init(startedAt: MonotonicInstant? = nil) {
        self.startedAt = startedAt
    }

    mutating func opened(now: MonotonicInstant) {
        openedAt = now
        webSocket = startedAt.map { max(now - $0 - (network?.tls ?? network?.connect ?? .zero), .zero) }
    }

    mutating func established(now: MonotonicInstant) {
        established = openedAt.map { now - $0 }
    }
}
