import Basics
public import Foundation
import Transport

/// What went wrong on the way, or here; what the homeserver says is an ``MXError``.
///
/// Neither message nor fields hold tokens, passwords or what people wrote.
public struct MatrixError: Error, Sendable, Hashable {
    /// What went wrong.
    @nonexhaustive
    public enum Code: Hashable, Sendable {
        /// The homeserver could not be reached, or the connection broke.
        case network
        case timedOut
        /// It answered with this status and no error of the protocol: a proxy's page, say.
        case http(status: Int)
        /// It answered success with something that is not what the specification says.
        case badResponse
        /// The operation was cancelled, or its session was paused or closed.
        case cancelled
        /// More than a bound, which the message names.
        case tooLarge
        /// An argument or a state of the caller's that cannot work. Trying again does not help.
        case invalidArgument
        /// The room is encrypted, and there is no encryption here: nothing was sent.
        case encryptionNotAvailable
        /// Somebody who was verified has other keys now: nothing is sent until that is acknowledged.
        case identityChanged
        /// The access token is not valid any more, and could not be made new: log in again.
        case unauthenticated
        /// More of the user than one request is needed: see ``MXAuthenticationSession``.
        case interactionRequired
        case roomNotFound
        case eventNotFound
        /// A file of the store's: damaged, not writable, or used by another process.
        case store
        case file
    }

    /// What went wrong.
    public let code: Code
    /// What happened, to what, and what happens next.
    public let message: String
    /// The room concerned.
    public let roomId: String?

    /// See the properties.
    public init(_ code: Code, _ message: String, roomId: String? = nil) {
        self.code = code
        self.message = PeerText(message).description
        self.roomId = roomId
    }

    /// Whether trying again may help.
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
    /// The same as ``message``.
    public var description: String { message }
    /// The same as ``message``.
    public var errorDescription: String? { message }
}
