import Basics
public import Foundation
import Transport

/// An error in the connection or in this library. Errors from the homeserver are ``MXError``.
///
/// Neither the message nor the fields contain tokens, passwords or what people wrote.
public struct MatrixError: Error, Sendable, Hashable {
    /// The kind of error.
    @nonexhaustive
    public enum Code: Hashable, Sendable {
        /// The homeserver could not be reached, or the connection was lost.
        case network
        case timedOut
        /// The server answered with this status but without an error of the protocol; for example, with a proxy's page.
        case http(status: Int)
        /// The server reported success, but its answer does not follow the specification.
        case badResponse
        /// The operation was cancelled, or its session was paused or closed.
        case cancelled
        /// A limit was exceeded; the message names it.
        case tooLarge
        /// An argument or the caller's state is invalid. A retry does not help.
        case invalidArgument
        /// The room is encrypted, but encryption is not available. Nothing was sent.
        case encryptionNotAvailable
        /// The keys of a verified user have changed. Nothing is sent until you acknowledge the change.
        case identityChanged
        /// The access token is no longer valid and could not be refreshed: log in again.
        case unauthenticated
        /// The server needs more from the user than one request: see ``MXAuthenticationSession``.
        case interactionRequired
        case roomNotFound
        case eventNotFound
        /// A file of the store is damaged, not writable, or in use by another process.
        case store
        case file
    }

    /// The kind of error.
    public let code: Code
    /// What happened, to what, and what happens next.
    public let message: String
    /// The room concerned.
    public let roomId: String?

    /// Creates an error.
    public init(_ code: Code, _ message: String, roomId: String? = nil) {
        self.code = code
        self.message = PeerText(message).description
        self.roomId = roomId
    }

    /// Whether a retry may help.
    public var isRetryable: Bool {
        switch code {
        case .network, .timedOut: true
        case .http(let status): status == 429 || status >= 500
        case .badResponse, .cancelled, .tooLarge, .invalidArgument, .encryptionNotAvailable, .identityChanged,
            .unauthenticated, .interactionRequired, .roomNotFound, .eventNotFound, .store, .file:
            false
        }
    }
}

extension MatrixError: CustomStringConvertible, LocalizedError {
    /// Same as ``message``.
    public var description: String { message }
    /// Same as ``message``.
    public var errorDescription: String? { message }
}
