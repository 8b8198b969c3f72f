import Basics

/// Why a request or a connection failed below the protocol that uses it.
///
/// `message` is meant for people: it names the host and what went wrong, never a body, a header value or a
/// credential (user, password, query string).
package struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The URL, a header or an option cannot be used. Trying again will not help.
        case invalidRequest
        case couldNotResolve
        case couldNotConnect
        /// The proxy could not be reached or refused to carry the connection.
        case proxy
        case timedOut
        case cancelled
        case certificateExpired
        /// Signed by nobody whom we trust, a self-signed certificate included.
        case certificateUntrusted
        case certificateWrongHost
        /// The server's key is not the one that was pinned.
        case certificateWrongKey
        /// Any other failure of TLS.
        case tls
        /// The server answered the WebSocket handshake with this HTTP status instead of 101.
        case handshakeRefused(status: Int)
        /// The peer is not a WebSocket server: not HTTP at all, or a 101 that is no WebSocket accept.
        case notWebSocket
        /// The peer broke the rules of RFC 6455 and was told so with this close code.
        case protocolViolation(code: UInt16)
        /// The connection broke, or the peer closed it in the middle of something.
        case connectionLost
        /// A bound was exceeded; `message` names the option.
        case tooLarge
        /// A file on this side could not be read or written.
        case file
    }

    /// What a failure is to who uses the transport, whatever the protocol.
    package enum Kind: Hashable, Sendable {
        /// Trying again will not help.
        case invalidArgument
        case timedOut
        case cancelled
        case tooLarge
        case file
        /// The other side could not be reached, or cannot be trusted or understood.
        case network
    }

    package var kind: Kind {
        switch code {
        case .invalidRequest: .invalidArgument
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .tooLarge: .tooLarge
        case .file: .file
        case .couldNotResolve, .couldNotConnect, .proxy, .certificateExpired, .certificateUntrusted,
            .certificateWrongHost, .certificateWrongKey, .tls, .connectionLost, .handshakeRefused, .notWebSocket,
            .protocolViolation:
            .network
        }
    }

    /// Whether a request may have reached the server before this happened.
    package var isAfterConnecting: Bool {
        switch code {
        case .invalidRequest, .couldNotResolve, .couldNotConnect, .proxy, .certificateExpired, .certificateUntrusted,
            .certificateWrongHost, .certificateWrongKey, .handshakeRefused, .notWebSocket:
            false
        case .timedOut, .cancelled, .tls, .protocolViolation, .connectionLost, .tooLarge, .file: true
        }
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = PeerText(message).description
    }

    package var description: String { message }
}
