import PusherProtocol
import Realtime

/// What the application has given a client to call beside bindings: the delegate, and the callbacks of channels.
struct ClientCallbacks: Sendable {
    /// A channel's callbacks for what is not an event.
    struct Handlers: Sendable {
        var memberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?
        var memberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?
        var subscriptionCountChanged: (@Sendable (Int) -> Void)?
        var gap: (@Sendable (PusherGap) async -> Void)?
        var auth: PusherAuth?

        /// Those of `new` that are there take the place of the old ones.
        mutating func update(with new: Handlers) {
            memberAdded = new.memberAdded ?? memberAdded
            memberRemoved = new.memberRemoved ?? memberRemoved
            subscriptionCountChanged = new.subscriptionCountChanged ?? subscriptionCountChanged
            gap = new.gap ?? gap
            auth = new.auth ?? auth
        }
    }

    struct Channel: Sendable {
        /// Bindings and `===` see one object for a channel as long as it is subscribed.
        let object: PusherChannel
        var handlers = Handlers()
    }

    var delegate = DelegateSlot()
    var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    var channels: [EventRouter.ChannelID: Channel] = [:]
    /// The state that the application was told last.
    var announcedState = ConnectionState.disconnected
    private(set) var isClosed = false

    /// Forgets everything for good. Returns what was there, to be let go of without a lock held.
    mutating func close() -> ClientCallbacks {
        let old = self
        self = ClientCallbacks()
        isClosed = true
        return old
    }
}
