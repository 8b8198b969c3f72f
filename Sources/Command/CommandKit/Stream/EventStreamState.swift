package import PusherSwift

/// The progress of an ``EventStream``.
package struct EventStreamState {
    /// A source of events.
    package enum Side: Hashable {
        case pusher
        /// A feed, by index.
        case feed(Int)
    }

    package let sides: [Side]
    /// The number of events left to receive; `nil` if there is no limit.
    package var remaining: Int?
    /// The pending connections.
    package var awaited: Set<Side>
    /// Whether the time for connecting is over, so that the next failure ends the stream.
    package var isImpatient = false
    /// The channels that have not been refused.
    package var hopes: Set<String>
    /// Those channels that have never been subscribed.
    package var unheard: Set<String>
    /// Those channels whose subscription is pending before listening is reported, for the first time or again.
    package var unsettled: Set<String>
    package var hasListened = false
    /// Whether a sign-in is pending.
    package var isSigningIn = false
    /// The latest error of each side.
    package var lastErrors: [Side: PusherError] = [:]
    /// The worst status of errors that did not end the stream.
    package var trouble = ExitStatus.done
    package var outcome: ExitStatus?
    /// Whether a failure that ends the stream was reported.
    package var hasFailed = false
    package var waiter: CheckedContinuation<ExitStatus, Never>?

    package init(sides: [Side], channels: [String], count: Int?) {
        (self.sides, remaining, awaited) = (sides, count, Set(sides))
        (hopes, unheard, unsettled) = (Set(channels), Set(channels), Set(channels))
    }

    /// Whether anything was ever listened to.
    package var hasEverListened: Bool {
        sides.contains { side in
            switch side {
            case .pusher: !awaited.contains(side) && (hopes.isEmpty || unheard != hopes)
            case .feed: !awaited.contains(side)
            }
        }
    }

    /// The first pending connection.
    package var firstAwaited: Side? { sides.first { awaited.contains($0) } }

    /// The error that delays a pending connection, if any.
    package var reasonOfWait: PusherError? {
        sides.lazy.filter { awaited.contains($0) }.compactMap { lastErrors[$0] }.first
    }
}
