import Basics
import PusherProtocol
import Realtime

/// The application's latest requests, and its behavior.
struct Application {
    /// One subscription from `subscribe` to `unsubscribe`.
    struct Subscription {
        let channel: Int
        var isLive = true
        var isSubscribed = false
        /// Whether events may have been missed since the last subscription, which must be reported as a gap.
        var isMissing = false
        var gapMustBeTold = false
        /// The number of the last delivered event.
        var lastNumber = 0
        /// Whether the next live event must directly follow the last one.
        var isContiguous = false
        /// Expected jumps: events that waited for a key when a connection broke are delivered after the gap was
        /// reported.
        var jumpsAhead = 0
        /// Events that were reported as undecryptable.
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
    /// The sequence that is not read during a hold.
    let reader = EventReader(.sequence, eventName: nil, channelName: nil)
    var lastClientEvent = 0
    /// The duration of each callback; `nil` for callbacks that never return.
    var callbackDuration: Duration? = .zero
    /// Deliveries to the bindings that are not checked yet.
    let deliveries = Lock<[Delivery]>([])
}
