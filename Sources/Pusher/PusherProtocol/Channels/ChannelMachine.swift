import Basics
import Realtime

/// One channel's subscription on the present connection.
///
///               ┌─ retrying ◄─┐
///               ▼             │
///     idle ─► queued ─► authorizing ─► (awaitingUser) ─► subscribing ─► subscribed
///       └────(public)──────────────────────────────────────▲   │
///                                                              └─► failed, leaving
///
/// An application's `unsubscribe` while the server has not answered yet cannot be sent (the server would answer "no
/// current subscription"): the channel is ``State/leaving`` until the answer comes, unless it is wanted again before.
struct ChannelMachine: Sendable {
    enum State: Hashable, Sendable {
        /// Wanted; there is no connection.
        case idle
        /// Waits for one of the few authorizations that may run at a time.
        case queued
        case authorizing(AuthRequestID)
        /// The auth endpoint failed and is asked again soon.
        case retrying
        /// The answer leaves it to the sign-in, which is on its way, to say who the user is.
        case awaitingUser(AuthAnswer)
        /// The frame is sent; the server's answer is due at the deadline.
        case subscribing(deadline: MonotonicInstant)
        case subscribed
        /// Given up until the next connection or the next `subscribe`.
        /// - Parameter mayBeSubscribed: The server was asked and has not said no.
        case failed(mayBeSubscribed: Bool)
        /// Unwanted while `subscribing`.
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
    /// Given at `subscribe`, good for one attempt.
    var givenAuth: AuthAnswer?
    var members = PresenceMembers()
    /// The own user id on a presence channel, of the last authorization.
    var myID: String?
    /// Opens the events of an encrypted channel; of the last authorization.
    var key: ChannelKey?
    /// Events that the key does not open, oldest first. While there are any, a newer key is being asked for.
    var sealed = SealedEvents()
    var keyRequest = KeyRequest.none
    /// Until when no newer key is asked for, because the last one opened nothing.
    var keyPause: KeyPause?
    /// Authorizations that failed in a row and were tried again.
    var authRetries = 0
    /// Why it failed, for whoever asks later.
    var failure: PusherError?
    /// Client events waiting for the subscription, oldest first.
    var unsent: [(event: String, data: String)] = []
    /// Connections subscribed to the channel, if the server tells.
    var subscriptionCount: Int?
    var subscribedAt: MonotonicInstant?
    /// When something was heard last on the connection that broke: from then on events may have been missed.
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

    /// When the server's answer is overdue.
    var deadline: MonotonicInstant? {
        switch state {
        case .subscribing(let deadline), .leaving(let deadline): deadline
        case .idle, .queued, .authorizing, .retrying, .awaitingUser, .subscribed, .failed: nil
        }
    }
}

/// Tells the event that a cache channel's server kept from new ones (Pusher protocol, "Cache channels").
struct CacheReplay: Sendable {
    /// A server with caches sends what it kept, or that it kept nothing, right behind the success of a subscription. One
    /// without sends neither: what comes later than this is live, unless it is what came last before. A network that stalls
    /// between the two must not make an event come twice as a new one.
    private static let patience = Duration.seconds(1)

    /// Set between the success of a subscription and the first event after it, which was kept if it comes by then.
    private var expectedUntil: MonotonicInstant?
    /// Of the event delivered last.
    private var lastFingerprint: Int?

    mutating func subscribed(now: MonotonicInstant) {
        expectedUntil = now + Self.patience
    }

    mutating func missed() {
        expectedUntil = nil
    }

    /// - Parameter event: Published; events from client to client are not kept.
    mutating func origin(of event: RealtimeEvent, now: MonotonicInstant) -> EventOrigin {
        let fingerprint = event.fingerprint
        defer { (expectedUntil, lastFingerprint) = (nil, fingerprint) }
        guard let expectedUntil else { return .live }
        if lastFingerprint == fingerprint { return .repeatedCache }
        return now < expectedUntil ? .cache : .live
    }
}

/// Tells one request for authorization from all others, so that an answer that comes late is recognised.
package struct AuthRequestID: Hashable, Sendable {
    package let number: Int
}

/// A signature that the application's server is to be asked for.
package struct AuthRequest: Hashable, Sendable {
    package let id: AuthRequestID
    package let channel: ChannelName
    /// The connection that the signature is for; it is void on any other.
    package let socketID: SocketID
}
