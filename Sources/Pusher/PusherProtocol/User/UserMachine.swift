import Basics
package import Realtime

/// The sign-in of a connection. Wanted once, it is done again on every connection.
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
        /// - Parameter mayBeSignedIn: The server was asked and has not said no.
        case failed(mayBeSignedIn: Bool)
    }

    /// The application has asked to sign in.
    var isWanted = false
    var state = State.out
    /// Authorizations that failed in a row and were tried again.
    var authRetries = 0
    /// Why it failed, for whoever asks later.
    var failure: PusherError?
    /// Users on the watchlist who are online, as far as the server has told.
    var online = OnlineUsers()

    var signedIn: SignedInUser? {
        if case .signedIn(let user) = state { user } else { nil }
    }

    /// Asked for on this connection, and neither done nor failed.
    var isOnItsWay: Bool {
        switch state {
        case .authorizing, .retrying, .signingIn: true
        case .out, .signedIn, .failed: false
        }
    }

    /// - Parameter isReadingPaused: The server's answer may then have been waiting all the time.
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
    /// Bindings to events sent to the signed-in user.
    package static let user = EventRouter.ChannelID(number: -1)
    /// Bindings to changes of the watchlist.
    package static let watchlist = EventRouter.ChannelID(number: -2)
}
