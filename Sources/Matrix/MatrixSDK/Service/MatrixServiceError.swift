import Basics
public import Foundation

/// Why a ``MatrixServiceProtocol`` could not do what it was asked for.
///
/// Neither cases nor messages hold tokens, passwords or what people wrote.
@nonexhaustive
public enum MatrixServiceError: Error, Sendable, Hashable {
    /// ``MatrixServiceProtocol/initialize(homeserverURL:sessionPath:)`` comes first.
    case notInitialized
    /// There is no session: log in, or restore one.
    case notLoggedIn
    /// The account has no such room.
    case roomNotFound
    /// The homeserver could not be reached in time. Trying again may help.
    case network
    /// What the homeserver or the library says.
    case sdkError(String)
}

extension MatrixServiceError: LocalizedError, CustomStringConvertible {
    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .notInitialized: "The Matrix service has no homeserver yet: call initialize(homeserverURL:sessionPath:)."
        case .notLoggedIn: "Nobody is logged in: log in, or restore a session."
        case .roomNotFound: "The account has no such room: join it first."
        case .network: "The homeserver cannot be reached: try again later."
        case .sdkError(let message): PeerText(message).description
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
