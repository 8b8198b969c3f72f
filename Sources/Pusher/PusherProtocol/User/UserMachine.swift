import Basics
package import Realtime

/// The sign-in of a connection. Once requested, it is repeated on every connection.
///
///     out ─► authorizing ─► signingIn ─► signedIn
///               │  ▲            │
///               ▼  │            ▼
///             retrying        failed (until the next connection, or asked again)
struct UserMachine: Sendable {
    enum State: Hashable, Sendable {
        case out
        case authorizing(AuthRequestID, deadline: MonotonicInstant)
        case retrying(at: MonotonicInstant)
        /// The frame is sent; the server's answer is due at the deadline.
        case signingIn(deadline: MonotonicInstant)
        case signedIn(SignedInUser)
        /// - Parameter mayBeSignedIn: The request was sent and the server has not refused it.
        case failed(mayBeSignedIn: Bool)
    }

    /// Whether the application has requested a sign-in.
    var isWanted = false
    var state = State.out
    /// The number of consecutive failed authorizations that were retried.
    var authRetries = 0
    /// The reason for the failure, for later queries.
    var failure: PusherError?
    /// The users on the watchlist who are online, as reported by the server.
    var online = OnlineUsers()

    var signedIn: SignedInUser? {
        if case .signedIn(let user) = state { user } else { nil }
    }

    /// Whether a sign-in is pending on this connection.
    var isOnItsWay: Bool {
        switch state {
        case .authorizing, .retrying, .signingIn: true
        case .out, .signedIn, .failed: false
        }
    }

    /// - Parameter isReadingPaused: If true, the server's answer may already have been waiting.
    func deadline(isReadingPaused: Bool) -> MonotonicInstant? {
        switch state {
        case .authorizing(_, let deadline), .retrying(let deadline): deadline
        case .signingIn(let deadline): isReadingPaused ? nil : deadline
        case .out, .signedIn, .failed: nil
        }
    }

    var isFailed: Bool {
        if case .failed = state { true } else { false }
    }
}

extension EventRouter.ChannelID {
    /// The id of bindings to events sent to the signed-in user.
    package static let user = EventRouter.ChannelID(number: -1)
    /// The id of bindings to changes of the watchlist.
    package static let watchlist = EventRouter.ChannelID(number: -2)
}
