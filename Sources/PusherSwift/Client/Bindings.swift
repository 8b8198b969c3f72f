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

    /// Gets every notice but events.
    struct Observer: Sendable {
        /// Ends when this channel does; nil for observers of the whole client.
        let channel: EventRouter.ChannelID?
        let onNotice: @Sendable (ClientMachine.Notice) -> Void
        let onEnd: @Sendable () -> Void
    }

    struct ObserverID: Hashable, Sendable {
        let number: Int
    }

    var router: EventRouter
    weak var delegate: (any PusherDelegate)?
    var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    var handlers: [EventRouter.ChannelID: Handlers] = [:]
    /// Bindings and `===` see one object for a channel as long as it is subscribed.
    var channelObjects: [EventRouter.ChannelID: PusherChannel] = [:]
    /// The state that the application was told last.
    var announcedState = ConnectionState.disconnected
    private(set) var isClosed = false

    private var observers: [ObserverID: Observer] = [:]
    private var lastObserver = 0

    init() {
        router = EventRouter()
        router.addChannel(.user)
        router.addChannel(.watchlist)
    }

    /// Whether the channel can still have bindings; nil stands for the whole client.
    func isLive(_ channel: EventRouter.ChannelID?) -> Bool {
        guard !isClosed else { return false }
        guard let channel else { return true }
        return channel == .user || channel == .watchlist || channelObjects[channel] != nil
    }

    var everyObserver: [Observer] {
        observers.sorted { $0.key.number < $1.key.number }.map(\.value)
    }

    mutating func add(_ observer: Observer) -> ObserverID {
        lastObserver += 1
        let id = ObserverID(number: lastObserver)
        observers[id] = observer
        return id
    }

    mutating func removeObserver(_ id: ObserverID) {
        observers[id] = nil
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
        let ended = observers.filter { $0.value.channel == id }
        for id in ended.keys { observers[id] = nil }
        return Remains(
            observers: Array(ended.values), handlers: [handlers.removeValue(forKey: id)].compactMap { $0 },
            bindings: router.removeChannel(id), objects: [channelObjects.removeValue(forKey: id)].compactMap { $0 })
    }

    /// Forgets everything for good. Returns what was there, to be ended without a lock held.
    mutating func close() -> Bindings {
        let old = self
        self = Bindings()
        isClosed = true
        return old
    }
}
