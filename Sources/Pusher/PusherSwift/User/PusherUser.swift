import PusherProtocol
import Realtime

/// The user that a client is signed in as. Bindings here get the events that are sent to the user, on whatever
/// connection; they outlive connections and sign-ins. Each sign-in, also after a reconnect, is the event
/// `pusher:signin_success` with the user's data, a failed one `pusher:signin_error`.
///
///     pusher.user.bind(eventName: "notice") { event in … }
///     pusher.user.signIn()
public final class PusherUser: PusherEventEmitter, @unchecked Sendable {
    /// Users whom the signed-in user watches.
    public let watchlist: PusherWatchlist

    init(core: ClientCore) {
        watchlist = PusherWatchlist(core: core)
        super.init(id: .user, core: core)
    }

    /// Signs in, now or when connected, and again after every reconnect. Nothing to do when signed in or on the way; a
    /// sign-in that failed is tried again.
    public func signIn() { core.perform { machine, now in machine.signIn(now: now) } }

    /// The user's id; nil unless signed in.
    public var userId: String? { core.read { $0.signedInUser?.id } }

    /// JSON text with `id` and what else the application's server tells of the user; nil unless signed in.
    public var userData: String? { core.read { $0.signedInUser?.data } }

    /// Signs in and returns the user's id when it is done, at once if it is.
    ///
    /// - Throws: ``PusherError`` if it fails; `CancellationError` if the task is cancelled. Waits as long as the client
    ///   is not connected.
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
            // An outcome may be older than this call: what counts is how things stand.
            if case .failure = outcome, core.read({ $0.isSigningIn }) { continue }
            return try outcome.get()
        }
        try Task.checkCancellation()
        throw PusherError(.authorizationFailed, "signing in: the client is gone")
    }
}

/// Users whom the signed-in user watches. Bindings get `online` and `offline`, whose data is
/// `{"name": …, "user_ids": […]}`; the first ones after a sign-in tell how things stand.
public final class PusherWatchlist: PusherEventEmitter, @unchecked Sendable {
    init(core: ClientCore) {
        super.init(id: .watchlist, core: core)
    }

    /// Ids of the watched users who are online, as far as the server has told on this connection. A set of `String`
    /// holds one of two ids that are canonically equal in Unicode; ``isOnline(userId:)`` tells them apart.
    public var online: Set<String> { Set(core.read { $0.onlineUsers }) }

    /// Whether a watched user is online, as far as the server has told on this connection. Ids compare byte for byte.
    public func isOnline(userId: String) -> Bool { core.read { $0.isOnline(userId) } }
}
