package import PusherSwift

/// How far an ``EventStream`` is.
package struct EventStreamState {
    /// Where events come from.
    package enum Side: Hashable {
        case pusher
        /// By its place among the feeds.
        case feed(Int)
    }

    package let sides: [Side]
    /// Events that are still to come before it is done; nil if it has no such end.
    package var remaining: Int?
    /// Connections that have not come about yet.
    package var awaited: Set<Side>
    /// The time for that is over; the next failure ends it.
    package var isImpatient = false
    /// Channels that nobody has refused us yet.
    package var hopes: Set<String>
    /// Those of them that have never been subscribed.
    package var unheard: Set<String>
    /// Those of them that are still to be subscribed before it is said what is listened to, or that it is again.
    package var unsettled: Set<String>
    package var hasListened = false
    /// Whether a sign-in has been asked for and is neither done nor refused.
    package var isSigningIn = false
    /// The newest of each side.
    package var lastErrors: [Side: PusherError] = [:]
    /// The worst of what went wrong while other things went on.
    package var trouble = ExitStatus.done
    package var outcome: ExitStatus?
    /// Whether a failure was reported that ends the stream.
    package var hasFailed = false
    package var waiter: CheckedContinuation<ExitStatus, Never>?

    package init(sides: [Side], channels: [String], count: Int?) {
        (self.sides, remaining, awaited) = (sides, count, Set(sides))
        (hopes, unheard, unsettled) = (Set(channels), Set(channels), Set(channels))
    }

    /// Whether anything of what it was to listen to has come about.
    package var hasEverListened: Bool {
        sides.contains { side in
            switch side {
            case .pusher: !awaited.contains(side) && (hopes.isEmpty || unheard != hopes)
            case .feed: !awaited.contains(side)
            }
        }
    }

    /// What is waited for first.
    package var firstAwaited: Side? { sides.first { awaited.contains($0) } }

    /// Why a connection has not come about yet, if something has gone wrong with it.
    package var reasonOfWait: PusherError? {
        sides.lazy.filter { awaited.contains($0) }.compactMap { lastErrors[$0] }.first
    }
}
