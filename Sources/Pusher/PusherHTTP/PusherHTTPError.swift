import Basics
import Transport

/// The reason why a call of the HTTP API or a signature failed. Holds neither the secret nor the published data.
public struct PusherHTTPError: Error, Hashable, Sendable {
    /// The kinds of failure.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// The arguments are invalid; nothing was sent or signed.
        case invalidArgument
        /// The server could not be reached, or the connection broke.
        case unreachable
        /// 401 and 403: wrong key or secret, a clock that is off, a disabled application.
        case refused
        /// 400, 404, 413 and 422: the server does not accept the request.
        case rejected
        /// 429 and 5xx.
        case serverFailure
        /// An answer that is not the API's.
        case unexpectedAnswer
    }

    /// The kind of failure.
    public let kind: Kind
    /// The HTTP status, if the server answered.
    public let status: Int?
    /// A one-sentence description for people.
    public let message: String

    /// Whether the server may have received the call. If `false`, repeating the call cannot publish an event twice.
    package let wasSent: Bool

    package init(_ kind: Kind, status: Int? = nil, wasSent: Bool = true, _ message: String) {
        self.kind = kind
        self.status = status
        self.wasSent = wasSent
        self.message = PeerText(message).description
    }

    /// Whether the same call may succeed later. The client does not retry calls itself, because that could publish an
    /// event twice.
    public var mayRetry: Bool { kind == .unreachable || kind == .serverFailure }
}

extension PusherHTTPError: CustomStringConvertible {
    /// The message with the status.
    public var description: String { message + (status.map { " (HTTP status \($0))" } ?? "") }
}
