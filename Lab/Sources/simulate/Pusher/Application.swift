import Basics
import PusherProtocol
import Realtime

/// What the application has asked for last, and how it behaves.
struct Application {
    /// One subscription from `subscribe` to `unsubscribe`.
    struct Subscription {
        let channel: Int
        var isLive = true
        var isSubscribed = false
        /// Events may have been missed since it was subscribed last; to be reported as a gap.
        var isMissing = false
        var gapMustBeTold = false
        /// The number of the event delivered last.
        var lastNumber = 0
        /// The next live event must be the one after the last.
        var isContiguous = false
        /// Events that waited for a key when a connection broke come after the gap was told: the jump is still ahead.
        var jumpsAhead = 0
        /// Events reported as undecryptable.
        var lost: Set<Int> = []
    }

    struct Delivery {
        enum Binding {
            case global
            case channel(EventRouter.ChannelID)
        }

        let binding: Binding
        let event: RealtimeEvent
    }

    var wantsConnection = false
    var wantsSignIn = false
    var signInHasFailed = false
    var isShutDown = false
    /// By channel.
    var wanted: [Int: EventRouter.ChannelID] = [:]
    var subscriptions: [EventRouter.ChannelID: Subscription] = [:]
    var callsFromCallbacks: [PusherSchedule.Call] = []
    var holds = 0
    /// The sequence that is not read meanwhile.
    let reader = EventReader(.sequence, eventName: nil, channelName: nil)
    var lastClientEvent = 0
    /// How long each callback takes; nil: for ever.
    var callbackDuration: Duration? = .zero
    /// What the bindings have received and nobody has looked at yet.
    let deliveries = Lock<[Delivery]>([])
}
