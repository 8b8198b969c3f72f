package import Basics
package import Transport

/// How long each step of a connection attempt took.
package struct ConnectionSteps: Hashable, Sendable {
    package let startedAt: MonotonicInstant?
    private var openedAt: MonotonicInstant?
    /// Of the network below the WebSocket.
    package internal(set) var network: ConnectionTimes?
    /// Of the WebSocket handshake alone.
    package private(set) var webSocket: Duration?
    /// From the WebSocket to `pusher:connection_established`.
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
