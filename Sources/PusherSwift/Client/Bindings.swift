import PusherProtocol
import Realtime

/// Whom a client tells what: bindings, delegate, member callbacks, sequences. Kept apart from the connection, so that
/// delivering events does not wait for receiving them.
struct Bindings: Sendable {
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

    /// Gets every notice but events; those of a channel only what concerns it.
    struct Observer: Sendable {
        let id: ObserverID
        /// Ends when this channel does; nil for observers of the whole client.
        let channel: EventRouter.ChannelID?
        /// Nil for who only wants to know the end.
        let onNotice: (@Sendable (ClientMachine.Notice) -> Void)?
        let onEnd: @Sendable () -> Void
    }

    struct ObserverID: Hashable, Sendable {
        let channel: EventRouter.ChannelID?
        let number: Int
    }

    var router: EventRouter
    weak var delegate: (any PusherDelegate)?
    var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    var handlers: [EventRouter.ChannelID: Handlers] = [:]
    /// Bindings and `===` see one object for a channel as long as it is subscribed.
    var channelObjects: [EventRouter.ChannelID: PusherChannel] = [:]
    var sourceChannels = SourceChannels()
    /// The state that the application was told last.
    var announcedState = ConnectionState.disconnected
    private(set) var isClosed = false

    /// Of each channel, and with nil of the whole client; in order.
    private var observers: [EventRouter.ChannelID?: [Observer]] = [:]
    private var lastObserver = 0

    init(version: RouterVersion) {
        router = EventRouter(version: version)
        router.addChannel(.user)
        router.addChannel(.watchlist)
    }

    /// Whether the channel can still have bindings; nil stands for the whole client.
    func isLive(_ channel: EventRouter.ChannelID?) -> Bool {
        guard !isClosed else { return false }
        guard let channel else { return true }
        return channel == .user || channel == .watchlist || channelObjects[channel] != nil
    }

    var everyObserver: [Observer] { observers.values.flatMap { $0 } }

    /// Who is told of something that concerns `channel`: observers of the whole client first.
    func observers(of channel: EventRouter.ChannelID?) -> [Observer] {
        let client = observers[nil] ?? []
        return channel == nil ? client : client + (observers[channel] ?? [])
    }

    mutating func observe(
        _ channel: EventRouter.ChannelID?, onNotice: (@Sendable (ClientMachine.Notice) -> Void)? = nil,
        onEnd: @escaping @Sendable () -> Void
    ) -> ObserverID {
        lastObserver += 1
        let id = ObserverID(channel: channel, number: lastObserver)
        observers[channel, default: []].append(Observer(id: id, channel: channel, onNotice: onNotice, onEnd: onEnd))
        return id
    }

    /// Returns what was there, to be let go of without a lock held.
    mutating func removeObserver(_ id: ObserverID) -> [Observer] {
        let removed = observers[id.channel]?.filter { $0.id == id } ?? []
        observers[id.channel]?.removeAll { $0.id == id }
        return removed
    }

    /// What belonged to a channel or to the whole client. To be ended, and let go of, without a lock held: it holds the
    /// application's closures, and with them anything.
    struct Remains: Sendable {
        let observers: [Observer]
        let handlers: [Handlers]
        let bindings: [EventRouter.Binding]
        let objects: [PusherChannel]

        func end() {
            for observer in observers { observer.onEnd() }
        }
    }

    mutating func removeChannel(_ id: EventRouter.ChannelID) -> Remains {
        let ended = observers.removeValue(forKey: id) ?? []
        return Remains(
            observers: ended, handlers: [handlers.removeValue(forKey: id)].compactMap { $0 },
            bindings: router.removeChannel(id), objects: [channelObjects.removeValue(forKey: id)].compactMap { $0 })
    }

    /// Forgets everything for good. Returns what was there, to be ended without a lock held.
    mutating func close() -> Bindings {
        let old = self
        self = Bindings(version: old.router.version)
        isClosed = true
        return old
    }
}
