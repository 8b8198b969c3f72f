import Basics
public import Foundation

/// An error of a ``MatrixServiceProtocol``.
///
/// Neither cases nor messages contain tokens, passwords or message content.
@nonexhaustive
public enum MatrixServiceError: Error, Sendable, Hashable {
    /// Call ``MatrixServiceProtocol/initialize(homeserverURL:sessionPath:)`` first.
    case notInitialized
    /// There is no session: log in, or restore one.
    case notLoggedIn
    /// The account has no such room.
    case roomNotFound
    /// The homeserver could not be reached in time. Retrying may help.
    case network
    /// An error reported by the homeserver or the library.
    case sdkError(String)
}

extension MatrixServiceError: LocalizedError, CustomStringConvertible {
    /// A description of the error, and what to do about it.
    public var description: String {
        switch self {
        case .notInitialized: "The Matrix service has no homeserver yet: call initialize(homeserverURL:sessionPath:)."
        case .notLoggedIn: "Nobody is logged in: log in, or restore a session."
        case .roomNotFound: "The account has no such room: join it first."
        case .network: "The homeserver cannot be reached: try again later."
        case .sdkError(let message): PeerText(message).description
        }
    }

    /// Same as ``description``.
    public var errorDescription: String? { description }
}
