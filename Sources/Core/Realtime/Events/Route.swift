import Basics
import Synchronization

/// The bindings to call for an event: global ones first, then the channel's. The code that delivers events keeps it,
/// because often the next event takes the same route and then needs neither lock nor lookup.
package final class Route: Sendable {
    private let version: Int
    private let channel: EventRouter.ChannelID?
    /// `nil` for a route of a single event without bindings to its name.
    private let name: ByteKey?
    package let global: [EventRouter.Binding]
    package let bound: [EventRouter.Binding]

    init(
        version: Int, channel: EventRouter.ChannelID?, name: ByteKey?, global: [EventRouter.Binding],
        bound: [EventRouter.Binding]
    ) {
        self.version = version
        self.channel = channel
        self.name = name
        self.global = global
        self.bound = bound
    }

    /// Whether no binding has changed since.
    package func isCurrent(_ version: Int) -> Bool { version == self.version }

    /// Calls the bindings in order.
    ///
    /// - Parameter isLive: Whether the channel, or with nil the client, still accepts events. Called before each
    ///   binding if any binding has changed since.
    package func call(
        _ event: RealtimeEvent, version: RouterVersion, wakeUps: ReaderWakeUps,
        isLive: (EventRouter.ChannelID?) -> Bool
    ) {
        for binding in global {
            guard isCurrent(version.value) || isLive(nil) else { return }
            binding.call(event, wakeUps)
        }
        callBound(event, version: version, wakeUps: wakeUps, isLive: isLive)
    }

    /// Like `call`, but without global bindings.
    package func callBound(
        _ event: RealtimeEvent, version: RouterVersion, wakeUps: ReaderWakeUps,
        isLive: (EventRouter.ChannelID?) -> Bool
    ) {
        for binding in bound {
            guard isCurrent(version.value) || isLive(channel) else { return }
            binding.call(event, wakeUps)
        }
    }

    /// Whether no binding has changed since, and the event takes this route.
    package func isValid(
        for event: RealtimeEvent, on channel: EventRouter.ChannelID?, version: Int
    ) -> Bool {
        guard version == self.version, channel == self.channel, let name else { return false }
        return event.isNamed(name)
    }
}

/// Counts the changes of a router. Any thread may read it without the router's lock.
package final class RouterVersion: Sendable {
    private let count = Atomic(0)

    package init() {}

    package var value: Int { count.load(ordering: .acquiring) }

    func increment() {
        count.wrappingAdd(1, ordering: .releasing)
    }
}

extension EventRouter.Binding {
    /// The application's code may wait for a sequence's reader, so the reader is woken first.
    package func call(_ event: RealtimeEvent, _ wakeUps: ReaderWakeUps) {
        if !isOfSequence { wakeUps.run() }
        handler(event)
    }
}
