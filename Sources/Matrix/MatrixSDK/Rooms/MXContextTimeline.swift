import Basics
import MatrixProtocol

/// The events around a given event, in both directions. It is not live, and none of it is stored.
public final class MXContextTimeline: Sendable {
    private struct State: Sendable {
        var start: String?
        var end: String?
    }

    /// The event at the center of the timeline.
    public let eventId: String
    private let roomId: String
    private let core: SessionCore
    private let state = Lock(State())

    init(eventId: String, roomId: String, core: SessionCore) {
        self.eventId = eventId
        self.roomId = roomId
        self.core = core
    }

    /// Starts at the event.
    ///
    /// - Parameter limit: The number of events around it, on both sides together.
    /// - Returns: These events and the event itself, oldest first.
    public func resetPaginationAroundInitialEvent(withLimit limit: UInt = 20) async throws -> [MXEvent] {
        let context = try await core.rest.contextOfEvent(eventId, inRoom: roomId, limit: Int(clamping: limit))
        state.withLock { $0 = State(start: context.start, end: context.end) }
        return try core.decrypted(
            context.eventsBefore.reversed() + [context.event] + context.eventsAfter, in: roomId)
    }

    /// Returns whether there may be more events in this direction.
    public func canPaginate(_ direction: MXTimelineDirection) -> Bool {
        state.withLock { direction == .backwards ? $0.start != nil : $0.end != nil }
    }

    /// Returns the next events in a direction: newest first backwards, oldest first forwards. Empty at the end.
    public func paginate(_ count: UInt, direction: MXTimelineDirection) async throws -> [MXEvent] {
        guard let token = state.withLock({ direction == .backwards ? $0.start : $0.end }) else { return [] }
        let page = try await core.rest.messages(
            forRoom: roomId, from: token, direction: direction, limit: Int(clamping: count))
        let isOver = page.end == nil || page.end == token && page.chunk.isEmpty
        state.withLock { state in
            switch direction {
            case .backwards: state.start = isOver ? nil : page.end
            case .forwards: state.end = isOver ? nil : page.end
            }
        }
        return try core.decrypted(page.chunk, in: roomId)
    }
}
