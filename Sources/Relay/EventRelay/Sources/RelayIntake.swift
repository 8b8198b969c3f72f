import CurlTransport
import Realtime

/// Receives the events of an attached source for one unit.
final class RelayIntake: RealtimeEventSink {
    private let inlet: RelayInlet
    private let id: @Sendable (RealtimeEvent) -> String?
    private let wants: @Sendable (RealtimeEvent) -> Bool
    private let position: @Sendable (String) -> String
    private let onState: @Sendable (SourceState) -> Void
    private let tellsPositionsFirst: Bool

    /// - Parameters:
    ///   - wants: Returns whether to relay an event.
    ///   - id: Returns an event's ID, if it has one: see ``RelayInlet/receive(_:id:)``.
    ///   - position: Returns the form in which to store a position of the source.
    ///   - tellsPositionsFirst: Whether the source reports a position before the events that lead to it, in the same
    ///     turn of the network's loop.
    init(
        _ inlet: RelayInlet, wants: @escaping @Sendable (RealtimeEvent) -> Bool,
        id: @escaping @Sendable (RealtimeEvent) -> String?,
        position: @escaping @Sendable (String) -> String = { $0 }, tellsPositionsFirst: Bool = false,
        onState: @escaping @Sendable (SourceState) -> Void
    ) {
        (self.inlet, self.wants, self.id) = (inlet, wants, id)
        (self.position, self.onState) = (position, onState)
        self.tellsPositionsFirst = tellsPositionsFirst
    }

    func receive(_ events: SourceEvents) {
        inlet.receive(events.batch(channelID: { _ in nil }).lazy.map(\.0).filter(wants).map { ($0, self.id($0)) })
    }

    func receive(_ failure: SourceFailure) { inlet.fail(failure.message, willRetry: failure.willRetry) }

    func receive(_ gap: SourceGap) {
        inlet.receiveGap(channel: gap.channelName, start: gap.start, end: gap.end, reason: "source")
    }

    func receive(_ state: SourceState) { onState(state) }

    func receive(reached position: String) {
        let position = self.position(position)
        guard tellsPositionsFirst else { return inlet.reached(position) }
        // After the events: a position that is stored without them would lose them.
        NetworkActor.execute { [inlet] in inlet.reached(position) }
    }
}
