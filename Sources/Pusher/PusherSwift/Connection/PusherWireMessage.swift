public import Foundation

/// One text message of the WebSocket, for ``PusherClientOptions/wireTap``.
public struct PusherWireMessage: Hashable, Sendable {
    /// The direction of a message.
    public enum Direction: String, Hashable, Sendable {
        /// From the server to this client.
        case incoming = "in"
        /// From this client to the server.
        case outgoing = "out"
    }

    /// The direction of the message.
    public let direction: Direction
    /// The time at which it was received, or passed to the connection.
    public let time: Date
    /// The text as on the wire, with secrets replaced by `…`: the values of members named `auth` and `shared_secret`,
    /// at any depth; signatures after the application's key; and, in server errors and text that is not JSON,
    /// everything long enough to be a secret. The application's own event data is not redacted: do not log it.
    public let text: String
}
