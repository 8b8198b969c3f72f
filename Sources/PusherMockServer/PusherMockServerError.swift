import Basics
import Transport

/// Why a server did not start, or why a call could not be carried out.
public struct PusherMockServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Hashable, Sendable {
        case invalidConfiguration
        /// A script is malformed; the message names the step.
        case invalidScript
        /// The certificate or the private key cannot be read or used.
        case tls
        /// The address cannot be bound, usually because another process uses the port.
        case bind
        /// No open connection has this socket id.
        case unknownConnection
        case unknownApp
    }

    /// What kind of failure this is.
    public let code: Code
    /// For people; names what it happened to.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = PeerText(message).description
    }

    /// The message.
    public var description: String { message }
}
