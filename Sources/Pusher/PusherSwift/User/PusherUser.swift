import PusherProtocol
import Realtime

/// The user that a client is signed in as. Bindings receive the events sent to the user, on any connection; they
/// outlive connections and sign-ins. Each sign-in, also after a reconnect, produces the event `pusher:signin_success`
/// with the user's data, or `pusher:signin_error` if it fails.
///
///     pusher.user.bind(eventName: "notice") { event in … }
///     pusher.user.signIn()
public final class PusherUser: PusherEventEmitter, @unchecked Sendable {
    /// The users that the signed-in user watches.
    public let watchlist: PusherWatchlist

    init(core: ClientCore) {
        watchlist = PusherWatchlist(core: core)
        super.init(id: .user, core: core)
    }

    /// Signs in, now or once connected, and again after every reconnect. Does nothing when signed in or signing in;
    /// retries a sign-in that failed.
    public func signIn() { core.perform { machine, now in machine.signIn(now: now) } }

    /// The user's id; `nil` unless signed in.
    public var userId: String? { core.read { $0.signedInUser?.id } }

    /// JSON text with `id` and other information about the user from the application's server; `nil` unless signed in.
    public var userData: String? { core.read { $0.signedInUser?.data } }

    /// Signs in, and returns the user's id when signed in; at once if already signed in.
    ///
    /// - Throws: ``PusherError`` if the sign-in fails; `CancellationError` if the task is cancelled. Keeps waiting
    ///   while the client is not connected.
    @discardableResult
    public func signedIn() async throws -> String {
        let outcomes = core.observe { notice -> Result<String, PusherError>? in
            if case .signedIn(let user) = notice { return .success(user.id) }
            if case .signInFailed(let error, _) = notice { return .failure(error) }
            return nil
        }
        signIn()
        if let userId { return userId }
        for await outcome in outcomes {
            // An outcome may be older than this call, so check the current state.
            if case .failure = outcome, core.read({ $0.isSigningIn }) { continue }
            return try outcome.get()
        }
        try Task.checkCancellation()
        throw PusherError(.authorizationFailed, "signing in: the client is gone")
    }
}

/// The users that the signed-in user watches. Bindings receive `online` and `offline`, whose data is
/// `{"name": …, "user_ids": […]}`; the first ones after a sign-in report the current state.
public final class PusherWatchlist: PusherEventEmitter, @unchecked Sendable {
    init(core: ClientCore) {
        super.init(id: .watchlist, core: core)
    }

    /// Ids of the watched users who are online, as reported by the server on this connection. A set of `String` holds
    /// only one of two ids that are canonically equal in Unicode; ``isOnline(userId:)`` distinguishes them.
    public var online: Set<String> { Set(core.read { $0.onlineUsers }) }

    /// Returns whether a watched user is online, as reported by the server on this connection. Ids compare byte for
    /// byte.
    public func isOnline(userId: String) -> Bool { core.read { $0.isOnline(userId) } }
}
