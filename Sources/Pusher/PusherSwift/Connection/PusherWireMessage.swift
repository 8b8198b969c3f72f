public import Foundation

/// One text message of the WebSocket, for ``PusherClientOptions/wireTap``.
public struct PusherWireMessage: Hashable, Sendable {
    /// Which way a message goes.
    public enum Direction: String, Hashable, Sendable {
        /// From the server to this client.
        case incoming = "in"
        /// From this client to the server.
        case outgoing = "out"
    }

    /// Which way it went.
    public let direction: Direction
    /// When it was received, or handed to the connection.
    public let time: Date
    /// The text as it is on the wire, apart from secrets, in whose place stands `…`: the values of members named `auth` and
    /// `shared_secret`, wherever they are; signatures behind the application's key; and in errors of the server and in what is
    /// not JSON everything that is long enough to be one. What applications send as events is shown: do not log it.
    public let text: String
}
