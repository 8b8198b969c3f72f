import Basics
import Dispatch
import MatrixProtocol

/// The events of a room in order: forwards as they happen, backwards by pagination.
///
/// Backwards it delivers the store's events, then the server's, without gaps or duplicates. Each event comes with the
/// room's state just before it.
public final class MXEventTimeline: Sendable {
    private struct State: Sendable {
        var listeners = EventListeners()
        /// The oldest event delivered; `nil` before the first.
        var position: String?
        var backState: MXRoomState?
        /// Changes when the timeline starts anew, which invalidates pending operations.
        var generation = 0
        /// Whether pagination has started: the store must keep the timeline's events.
        var isPaginated = false
    }

    private let roomId: String
    private let core: SessionCore
    private let locked = Lock(State())
    /// Runs one page at a time.
    private let turns = Turns()

    /// The client for the homeserver's API.
    package var rest: MXRestClient { core.rest }

    init(roomId: String, core: SessionCore) {
        self.roomId = roomId
        self.core = core
    }

    // MARK: Listening

    /// Calls back for each event of these types, or of all types, with its direction and the state just before it.
    /// Called on the session's completion queue.
    ///
    /// - Returns: The listener for ``removeListener(_:)``.
    @discardableResult
    public func listenToEvents(
        _ types: [MXEventType]? = nil, _ block: @escaping (MXEvent, MXTimelineDirection, MXRoomState?) -> Void
    ) -> Any {
        let box = EventListeners.Handler(call: block)
        return locked.withLock { $0.listeners.add(types, box.call) }
    }

    /// Removes a listener, even from within it.
    public func removeListener(_ listener: Any) {
        guard let listener = listener as? MXEventListener else { return }
        _ = locked.withLock { $0.listeners.remove(listener) }
    }

    /// Removes all listeners.
    public func removeAllListeners() { _ = locked.withLock { $0.listeners.removeAll() } }

    var hasListeners: Bool { locked.withLock { !$0.listeners.isEmpty } }

    /// The room's current state; `nil` if the user is no longer in the room.
    public var state: MXRoomState? { core.account.roomState(roomId) }

    func deliver(_ event: MXEvent, state: MXRoomState?, direction: MXTimelineDirection = .forwards) {
        for (listener, handler) in locked.withLock({ $0.listeners.interested(in: event.eventType) })
        where locked.withLock({ $0.listeners.has(listener) }) {
            handler.call(event, direction, state ?? self.state)
        }
    }

    // MARK: Paginating

    /// Starts anew at the newest event. Call it before paginating.
    public func resetPagination() {
        locked.withLock { state in
            state.position = nil
            state.backState = nil
            state.isPaginated = false
            state.generation += 1
        }
    }

    var isPaginated: Bool { locked.withLock { $0.isPaginated } }

    /// Returns whether there may be more events in this direction. New events arrive automatically.
    public func canPaginate(_ direction: MXTimelineDirection) -> Bool {
        guard direction == .backwards else { return false }
        return core.account.summary(roomId)?.paginationToken != nil || remaining(upTo: 1) > 0
    }

    /// The number of events in the store not delivered yet, at most 1,000.
    public var remainingMessagesForBackPaginationInStore: Int { remaining(upTo: 1000) }

    private func remaining(upTo limit: Int) -> Int {
        (try? core.account.store { store throws(MatrixError) in
            try store.events(in: roomId, before: locked.withLock { $0.position }, limit: limit).count
        }) ?? 0
    }

    /// Goes back to a delivered event: older events follow, as if none of them had been delivered.
    ///
    /// - Parameter state: The room's state just before that event.
    package func resumePagination(before eventId: String, state roomState: MXRoomState?) {
        locked.withLock { state in
            (state.position, state.backState, state.isPaginated) = (eventId, roomState, true)
            state.generation += 1
        }
    }

    /// Delivers `count` older events to the listeners, newest first: from the store, then from the server.
    ///
    /// - Parameter onlyFromStore: Whether to never ask the server.
    /// - Returns: These events.
    /// - Throws: `MatrixError` for any direction other than backwards, and the server's errors. Events loaded before
    ///   the error have been delivered.
    @discardableResult
    public func paginate(
        _ count: UInt, direction: MXTimelineDirection = .backwards, onlyFromStore: Bool = false
    ) async throws -> [MXEvent] {
        try await queuedPage(count, direction, onlyFromStore: onlyFromStore)()
    }

    /// Takes the turn of a page before returning, which callback variants need to keep the order of the calls.
    ///
    /// - Returns: A closure that paginates. Later pages wait for this one as long as its result is held.
    package func queuedPage(
        _ count: UInt, _ direction: MXTimelineDirection, onlyFromStore: Bool
    ) -> @Sendable () async throws -> [MXEvent] {
        let page = queuedSteps(count, direction, onlyFromStore: onlyFromStore)
        return { try await page().map(\.event) }
    }

    /// A delivered event, and the state just before it.
    package typealias Step = (event: MXEvent, state: MXRoomState?)

    /// Like ``queuedPage(_:_:onlyFromStore:)``, but with the states.
    package func queuedSteps(
        _ count: UInt, _ direction: MXTimelineDirection, onlyFromStore: Bool
    ) -> @Sendable () async throws -> [Step] {
        let turn = turns.take()
        return {
            try self.requireBackwards(direction)
            return try await turn.runWhileHeld { try await self.paginateNow(Int(clamping: count), onlyFromStore) }
        }
    }

    private func requireBackwards(_ direction: MXTimelineDirection) throws {
        guard direction == .backwards else {
            throw MatrixError(.invalidArgument, "new events of a live timeline come by themselves", roomId: roomId)
        }
    }

    private func paginateNow(_ count: Int, _ onlyFromStore: Bool) async throws -> [Step] {
        var given: [Step] = []
        // A server may answer with empty pages, so their number is limited.
        for _ in 0..<20 {
            given += try giveFromStore(count - given.count)
            guard given.count < count, !onlyFromStore else { break }
            guard core.account.summary(roomId)?.paginationToken != nil else { break }
            let generation = locked.withLock { $0.generation }
            let members = try await core.loadOlder(roomId, limit: max(count - given.count, 10))
            let isCurrent = locked.withLock { state in
                guard state.generation == generation else { return false }
                state.backState?.addMissing(members)
                return true
            }
            guard isCurrent else { break }
        }
        return given
    }

    private func giveFromStore(_ count: Int) throws -> [Step] {
        guard count > 0 else { return [] }
        var steps: [Step] = []
        // No sync may come between reading the events, the state after them, and the new position.
        try core.account.read(roomId) { store, current throws(MatrixError) in
            let position = locked.withLock { state in
                state.isPaginated = true
                return state.position
            }
            let events = try store.events(in: roomId, before: position, limit: count)
            locked.withLock { state in
                var back = state.backState ?? current
                for event in events {
                    if event.isState { back?.rollBack(event) }
                    steps.append((event, back))
                }
                state.backState = back
                state.position = events.last?.eventId ?? state.position
            }
        }
        let events = try core.lookedAt(steps.map(\.event), in: roomId)
        let given = zip(events, steps).map { (event: $0, state: $1.state) }
        core.onQueue { _ in
            for (event, state) in given { self.deliver(event, state: state, direction: .backwards) }
        }
        return given
    }
}
