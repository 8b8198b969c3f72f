import Basics

/// The reason why a request or a connection failed below the protocol that uses it.
///
/// `message` is written for people: it contains the host and the reason, never a body, a header value or a credential
/// (user, password, query string).
package struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The URL, a header or an option is invalid. Retrying will not help.
        case invalidRequest
        case couldNotResolve
        case couldNotConnect
        /// The proxy could not be reached or refused to carry the connection.
        case proxy
        case timedOut
        case cancelled
        case certificateExpired
        /// No trusted authority signed the certificate. Includes self-signed certificates.
        case certificateUntrusted
        case certificateWrongHost
        /// The server's key is not the pinned one.
        case certificateWrongKey
        /// Any other failure of TLS.
        case tls
        /// The server answered the WebSocket handshake with this HTTP status instead of 101.
        case handshakeRefused(status: Int)
        /// The peer is not a WebSocket server: it doesn't speak HTTP, or its 101 response does not accept a WebSocket.
        case notWebSocket
        /// The peer violated RFC 6455; the connection was closed with this code.
        case protocolViolation(code: UInt16)
        /// The connection broke, or the peer closed it unexpectedly.
        case connectionLost
        /// A limit was exceeded; `message` contains the option.
        case tooLarge
        /// A local file could not be read or written.
        case file
    }

    /// The kind of a failure, independent of the protocol.
    package enum Kind: Hashable, Sendable {
        /// Retrying will not help.
        case invalidArgument
        case timedOut
        case cancelled
        case tooLarge
        case file
        /// The peer could not be reached, trusted or understood.
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

    /// Whether a request may have reached the server before the failure.
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
