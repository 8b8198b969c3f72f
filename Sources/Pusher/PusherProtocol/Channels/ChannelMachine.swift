import Basics
import Realtime

/// One channel's subscription on the current connection.
///
///               ┌─ retrying ◄─┐
///               ▼             │
///     idle ─► queued ─► authorizing ─► (awaitingUser) ─► subscribing ─► subscribed
///       └────(public)──────────────────────────────────────▲   │
///                                                              └─► failed, leaving
///
/// If the application unsubscribes before the server has answered, the `unsubscribe` cannot be sent yet (the server
/// would answer "no current subscription"). The channel is then ``State/leaving`` until the answer arrives, unless the
/// application subscribes again before that.
struct ChannelMachine: Sendable {
    enum State: Hashable, Sendable {
        /// Wanted, but there is no connection.
        case idle
        /// Waiting for one of the few concurrent authorizations.
        case queued
        case authorizing(AuthRequestID)
        /// The auth endpoint failed; a retry is pending.
        case retrying
        /// The answer leaves the user's identity to the pending sign-in.
        case awaitingUser(AuthAnswer)
        /// The frame is sent; the server's answer is due at the deadline.
        case subscribing(deadline: MonotonicInstant)
        case subscribed
        /// Failed until the next connection or the next `subscribe`.
        /// - Parameter mayBeSubscribed: The request was sent and the server has not refused it.
        case failed(mayBeSubscribed: Bool)
        /// Unsubscribed while `subscribing`.
        case leaving(deadline: MonotonicInstant)
    }

    /// The request for a newer key, while events wait for one.
    enum KeyRequest: Hashable, Sendable {
        case none
        case queued
        case underWay(AuthRequestID)
    }

    struct KeyPause: Hashable, Sendable {
        let until: MonotonicInstant
        let length: Duration
    }

    let name: ChannelName
    let id: EventRouter.ChannelID
    var state = State.idle
    /// The signature passed to `subscribe`, valid for one attempt.
    var givenAuth: AuthAnswer?
    var members = PresenceMembers()
    /// The client's own user id on a presence channel, from the last authorization.
    var myID: String?
    /// The key that decrypts the events of an encrypted channel, from the last authorization.
    var key: ChannelKey?
    /// Events that the key cannot decrypt, oldest first. While there are any, a request for a newer key is pending.
    var sealed = SealedEvents()
    var keyRequest = KeyRequest.none
    /// The pause in requests for a newer key, because the last one decrypted nothing.
    var keyPause: KeyPause?
    /// The number of consecutive failed authorizations that were retried.
    var authRetries = 0
    /// The reason for the failure, for later queries.
    var failure: PusherError?
    /// The client events waiting for the subscription, oldest first.
    var unsent: [(event: String, data: String)] = []
    /// The number of connections subscribed to the channel, if the server reports it.
    var subscriptionCount: Int?
    var subscribedAt: MonotonicInstant?
    /// The time at which the broken connection last received anything. Events may have been missed since then.
    var missingSince: MonotonicInstant?
    var cache = CacheReplay()

    init(name: ChannelName, id: EventRouter.ChannelID, givenAuth: AuthAnswer?) {
        self.name = name
        self.id = id
        self.givenAuth = givenAuth
    }

    var isWanted: Bool {
        if case .leaving = state { false } else { true }
    }

    var isSubscribed: Bool { state == .subscribed }

    /// The time at which the server's answer is overdue.
    var deadline: MonotonicInstant? {
        switch state {
        case .subscribing(let deadline), .leaving(let deadline): deadline
        case .idle, .queued, .authorizing, .retrying, .awaitingUser, .subscribed, .failed: nil
        }
    }
}

/// Distinguishes a cached event of a cache channel from new events (Pusher protocol, "Cache channels").
struct CacheReplay: Sendable {
    /// A server with caches sends the cached event, or a cache miss, right after the success of a subscription. A
    /// server without caches sends neither. A later event is live unless it equals the last one before: a network stall
    /// between the two must not deliver an event as new twice.
    private static let patience = Duration.seconds(1)

    /// Set between the success of a subscription and the first event after it. That event is cached if it arrives by
    /// this time.
    private var expectedUntil: MonotonicInstant?
    /// The fingerprint of the event delivered last.
    private var lastFingerprint: Int?

    mutating func subscribed(now: MonotonicInstant) {
        expectedUntil = now + Self.patience
    }

    mutating func missed() {
        expectedUntil = nil
    }

    /// - Parameter event: A published event; servers do not cache client events.
    mutating func origin(of event: RealtimeEvent, now: MonotonicInstant) -> EventOrigin {
        let fingerprint = event.fingerprint
        defer { (expectedUntil, lastFingerprint) = (nil, fingerprint) }
        guard let expectedUntil else { return .live }
        if lastFingerprint == fingerprint { return .repeatedCache }
        return now < expectedUntil ? .cache : .live
    }
}

/// The identifier of one authorization request, by which late answers are recognized.
package struct AuthRequestID: Hashable, Sendable {
    package let number: Int
}

/// A request to the application's server for a signature.
package struct AuthRequest: Hashable, Sendable {
    package let id: AuthRequestID
    package let channel: ChannelName
    /// The connection that the signature is for; it is invalid on any other.
    package let socketID: SocketID
}
