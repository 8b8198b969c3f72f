import Basics
import Dispatch
import MatrixProtocol

/// The events of a room in order: forwards as they happen, backwards by paginating.
///
/// Backwards it gives what the store has, then what the server has, without a hole and without an event twice. With each
/// event comes the room's state just before it.
public final class MXEventTimeline: Sendable {
    private struct State: Sendable {
        var listeners = EventListeners()
        /// The oldest event that was given; nil before any was.
        var position: String?
        var backState: MXRoomState?
        /// Changes when the timeline begins anew: what is under way then counts no more.
        var generation = 0
        /// Somebody stands somewhere in it: what the store has of it must stay.
        var isPaginated = false
    }

    private let roomId: String
    private let core: SessionCore
    private let locked = Lock(State())
    /// One page at a time.
    private let turns = Turns()

    /// The calls of the homeserver.
    package var rest: MXRestClient { core.rest }

    init(roomId: String, core: SessionCore) {
        self.roomId = roomId
        self.core = core
    }

    // MARK: Listening

    /// Calls back for each event of these types, or of all, with its direction and the state just before it. On the
    /// session's completion queue.
    ///
    /// - Returns: What ``removeListener(_:)`` takes.
    @discardableResult
    public func listenToEvents(
        _ types: [MXEventType]? = nil, _ block: @escaping (MXEvent, MXTimelineDirection, MXRoomState?) -> Void
    ) -> Any {
        let box = EventListeners.Handler(call: block)
        return locked.withLock { $0.listeners.add(types, box.call) }
    }

    /// Ends the calls of a listener; also from within one.
    public func removeListener(_ listener: Any) {
        guard let listener = listener as? MXEventListener else { return }
        _ = locked.withLock { $0.listeners.remove(listener) }
    }

    /// Ends the calls of all listeners.
    public func removeAllListeners() { _ = locked.withLock { $0.listeners.removeAll() } }

    var hasListeners: Bool { locked.withLock { !$0.listeners.isEmpty } }

    /// The room's current state; nil when it is not joined any more.
    public var state: MXRoomState? { core.account.roomState(roomId) }

    func deliver(_ event: MXEvent, state: MXRoomState?, direction: MXTimelineDirection = .forwards) {
        for (listener, handler) in locked.withLock({ $0.listeners.interested(in: event.eventType) })
        where locked.withLock({ $0.listeners.has(listener) }) {
            handler.call(event, direction, state ?? self.state)
        }
    }

    // MARK: Paginating

    /// Begins anew at the newest event. To be called before paginating.
    public func resetPagination() {
        locked.withLock { state in
            state.position = nil
            state.backState = nil
            state.isPaginated = false
            state.generation += 1
        }
    }

    var isPaginated: Bool { locked.withLock { $0.isPaginated } }

    /// Whether there may be more in this direction. New events come by themselves.
    public func canPaginate(_ direction: MXTimelineDirection) -> Bool {
        guard direction == .backwards else { return false }
        return core.account.summary(roomId)?.paginationToken != nil || remaining(upTo: 1) > 0
    }

    /// How many events the store has that were not given yet; counts to 1,000.
    public var remainingMessagesForBackPaginationInStore: Int { remaining(upTo: 1000) }

    private func remaining(upTo limit: Int) -> Int {
        (try? core.account.store { store throws(MatrixError) in
            try store.events(in: roomId, before: locked.withLock { $0.position }, limit: limit).count
        }) ?? 0
    }

    /// Goes back to an event that was given: older ones come next, as if nothing older had been given.
    ///
    /// - Parameter state: The room's state just before that event.
    package func resumePagination(before eventId: String, state roomState: MXRoomState?) {
        locked.withLock { state in
            (state.position, state.backState, state.isPaginated) = (eventId, roomState, true)
            state.generation += 1
        }
    }

    /// Gives `count` older events to the listeners: newest first, from the store, then from the server.
    ///
    /// - Parameter onlyFromStore: Never asks the server.
    /// - Returns: Those events.
    /// - Throws: `MatrixError` for another direction than backwards, and what the server says. Events that were had
    ///   already were given.
    @discardableResult
    public func paginate(
        _ count: UInt, direction: MXTimelineDirection = .backwards, onlyFromStore: Bool = false
    ) async throws -> [MXEvent] {
        try await queuedPage(count, direction, onlyFromStore: onlyFromStore)()
    }

    /// Takes the turn of a page. It is taken when this returns: callback forms need that to keep the order of the calls.
    ///
    /// - Returns: Paginates. Later pages wait for this as long as something holds it.
    package func queuedPage(
        _ count: UInt, _ direction: MXTimelineDirection, onlyFromStore: Bool
    ) -> @Sendable () async throws -> [MXEvent] {
        let page = queuedSteps(count, direction, onlyFromStore: onlyFromStore)
        return { try await page().map(\.event) }
    }

    /// An event that was given, and the state just before it.
    package typealias Step = (event: MXEvent, state: MXRoomState?)

    /// As ``queuedPage(_:_:onlyFromStore:)``, with the states.
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
        // A server may answer with empty pages; they are bounded.
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
        // No sync comes between the events, the state that they led to, and the place after them.
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
