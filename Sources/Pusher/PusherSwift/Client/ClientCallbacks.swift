import PusherProtocol
import Realtime

/// The application's callbacks other than bindings: the delegate and the callbacks of channels.
struct ClientCallbacks: Sendable {
    /// A channel's callbacks other than for events.
    struct Handlers: Sendable {
        var memberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?
        var memberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?
        var subscriptionCountChanged: (@Sendable (Int) -> Void)?
        var gap: (@Sendable (PusherGap) async -> Void)?
        var auth: PusherAuth?

        /// Replaces the handlers that are present in `new`.
        mutating func update(with new: Handlers) {
            memberAdded = new.memberAdded ?? memberAdded
            memberRemoved = new.memberRemoved ?? memberRemoved
            subscriptionCountChanged = new.subscriptionCountChanged ?? subscriptionCountChanged
            gap = new.gap ?? gap
            auth = new.auth ?? auth
        }
    }

    struct Channel: Sendable {
        /// The channel's only object while it is subscribed, for bindings and `===`.
        let object: PusherChannel
        var handlers = Handlers()
    }

    var delegate = DelegateSlot()
    var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    var channels: [EventRouter.ChannelID: Channel] = [:]
    /// The state last reported to the application.
    var announcedState = ConnectionState.disconnected
    private(set) var isClosed = false

    /// Removes everything for good. Returns the old contents, which the caller must release without holding a lock.
    mutating func close() -> ClientCallbacks {
        let old = self
        self = ClientCallbacks()
        isClosed = true
        return old
    }
}
