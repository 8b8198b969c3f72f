import Basics
public import JSONBytes
import MatrixProtocol

/// A room that the user has joined, is invited to, or has knocked on.
///
/// There is one object per room for the lifetime of its session. After the room is left, it keeps its data and its
/// calls fail.
public final class MXRoom: Sendable {
    /// The room's id: opaque, starts with `!`.
    public let roomId: String
    /// The timeline of new and past events.
    public let liveTimeline: MXEventTimeline
    let core: SessionCore
    let sendQueue: SendQueue
    private let last: Lock<MXRoomSummary>
    /// The timelines other than the live one that are still in use.
    private let otherTimelines = Lock<[WeakTimeline]>([])
    private let relationListeners = Lock<[(id: MXEventListener, call: @Sendable (String) -> Void)]>([])

    init(roomId: String, core: SessionCore, summary: MXRoomSummary) {
        self.roomId = roomId
        self.core = core
        liveTimeline = MXEventTimeline(roomId: roomId, core: core)
        sendQueue = SendQueue(roomId: roomId, core: core)
        last = Lock(summary)
    }

    func close() {
        for timeline in timelines { timeline.removeAllListeners() }
        sendQueue.close()
    }

    private struct WeakTimeline: Sendable {
        weak var timeline: MXEventTimeline?
    }

    /// Returns a timeline like ``liveTimeline`` with its own pagination.
    package func makeTimeline() -> MXEventTimeline {
        let timeline = MXEventTimeline(roomId: roomId, core: core)
        // Released after the lock: the listeners belong to the application.
        _ = otherTimelines.withLock { others -> [MXEventTimeline] in
            let living = others.compactMap(\.timeline)
            others = (living + [timeline]).map { WeakTimeline(timeline: $0) }
            return living
        }
        return timeline
    }

    /// All timelines that receive the room's events.
    var timelines: [MXEventTimeline] { [liveTimeline] + otherTimelines.withLock { $0.compactMap(\.timeline) } }

    /// The client for the homeserver's API, which a room keeps after its session is gone.
    package var rest: MXRestClient { core.rest }

    /// The room's session; `nil` after it is gone.
    public var mxSession: MXSession? { core.session.withLock { $0.session } }

    // MARK: Properties

    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The summary for lists of rooms. After the room is left, its last summary.
    public var summary: MXRoomSummary! {
        if let summary = core.account.summary(roomId) { last.withLock { $0 = summary } }
        return last.withLock { $0 }
    }

    /// The room's name, or a name made from its members.
    public var displayName: String { summary.displayName }

    /// The current state; `nil` if the user has left the room, or the store cannot be read. The first access may read
    /// the store.
    public var state: MXRoomState? { core.account.roomState(roomId) }

    /// Whether the room is a direct chat.
    public var isDirect: Bool { summary.isDirect }

    /// The other user of a direct chat.
    public var directUserId: String? { summary.directUserId }

    /// The users who are typing, excluding the user.
    public var typingUsers: [String] { core.account.model { $0.rooms[roomId]?.typingUsers ?? [] } ?? [] }

    /// Returns the room's own account data of a type, such as `m.fully_read`.
    public func accountData(_ type: String) -> JSONView? {
        (core.account.model { $0.rooms[roomId]?.accountData[type] } ?? nil)?.contentJSON
    }

    /// Returns all joined and invited members. With lazily loaded members the first call asks the server.
    public func members() async throws -> MXRoomMembers {
        try await core.loadMembers(roomId)
        return state?.members ?? MXRoomMembers()
    }

    /// Returns a member, or a former member at the time of the loaded history. Does not load the whole state.
    func knownMember(_ userId: String) -> MXRoomMember? {
        let (state, earlier) =
            core.account.model { model in
                (model.rooms[roomId]?.state, model.rooms[roomId]?.earlierMembers[ByteKey(userId)])
            } ?? (nil, nil)
        if let state {
            if let member = state.members.member(withUserId: userId) { return member }
        } else {
            let stored = try? core.account.store { store throws(MatrixError) in
                try store.stateEvent(of: roomId, type: "m.room.member", key: userId)
            }
            if let member = stored.flatMap({ $0 }).flatMap({ MXRoomMember($0) }) { return member }
        }
        return earlier.flatMap { MXRoomMember($0) }
    }

    // MARK: Messages

    /// Returns the newest stored messages, oldest first, without using the network.
    ///
    /// - Parameter limit: The maximum number of messages.
    public func storedMessages(limit: Int = 50) throws -> [MXEvent] {
        try core.account.store { store throws(MatrixError) in
            Array(try store.events(in: roomId, before: nil, limit: limit).reversed())
        }
    }

    /// Returns an event of the room, from the store or otherwise from the server.
    public func event(withId eventId: String) async throws -> MXEvent {
        if let event = try core.account.event(eventId, in: roomId) {
            return try core.lookedAt([event], in: roomId).first ?? event
        }
        let event = try await core.rest.event(withId: eventId, inRoom: roomId)
        return try core.decrypted([event], in: roomId).first ?? event
    }

    package func storedEvent(_ eventId: String) -> MXEvent? { (try? core.account.event(eventId, in: roomId)) ?? nil }

    /// Returns the stored relations to each of these events that has any: edits, reactions, votes, replies in threads.
    ///
    /// Afterwards ``edited(_:)`` and ``aggregations(forEvent:)`` find them in memory.
    package func storedRelations(toEach eventIds: [String]) -> MXDictionary<[MXEvent]> {
        core.account.readRelations(ofEach: eventIds, in: roomId)
    }

    package func storedRelations(to eventId: String) -> [MXEvent] {
        storedRelations(toEach: [eventId])[eventId] ?? []
    }

    /// The newest message that a room list shows.
    public var lastMessage: MXEvent? {
        guard let id = summary.lastMessageId else { return nil }
        return try? core.account.event(id, in: roomId)
    }

    /// The user's messages that no sync has brought back yet, oldest first: pending, failed, and already on the server.
    /// Their ``MXEvent/transactionId`` equals that of the event that a sync brings.
    public var outgoingMessages: [MXEvent] {
        (core.account.model { $0.rooms[roomId]?.outgoing ?? [] } ?? []).compactMap { $0.event(sender: core.userId) }
    }

    /// Returns a timeline around an event, for a permalink. It is not live, and none of it is stored.
    public func timeline(onEvent eventId: String) -> MXContextTimeline {
        MXContextTimeline(eventId: eventId, roomId: roomId, core: core)
    }

    // MARK: Relations to an event

    /// Returns the known reactions to an event and edits of it, or `nil` if there are none.
    public func aggregations(forEvent eventId: String) -> MXEventAggregations? {
        core.account.loadRelations(of: eventId, in: roomId)
        let isKnown = core.account.model { $0.rooms[roomId]?.relations.hasRelations(to: eventId) }
        guard isKnown == true else { return nil }
        let original = try? core.account.event(eventId, in: roomId)
        return core.account.model {
            $0.rooms[roomId]?.relations.aggregations(
                forEvent: eventId, original: original ?? nil, currentUser: core.userId)
        } ?? nil
    }

    /// Returns the event with the content of its newest edit.
    public func edited(_ event: MXEvent) -> MXEvent {
        core.account.loadRelations(of: event.eventId, in: roomId)
        return core.account.model { $0.rooms[roomId]?.relations.edited(event) ?? event } ?? event
    }

    /// Calls back with the id of each event whose relations change: a reaction more or less, an edit, a vote in a poll.
    /// Called on the session's completion queue.
    ///
    /// - Returns: The listener for ``removeListener(_:)``.
    public func listenToRelations(_ block: @escaping @Sendable (String) -> Void) -> Any {
        let listener = MXEventListener()
        relationListeners.withLock { $0.append((listener, block)) }
        return listener
    }

    /// Removes a listener added with ``listenToRelations(_:)``.
    public func removeListener(_ listener: Any) {
        guard let listener = listener as? MXEventListener else { return }
        // Released after the lock.
        _ = relationListeners.withLock { listeners in
            defer { listeners.removeAll { $0.id === listener } }
            return listeners
        }
    }

    /// Notifies the listeners of every timeline.
    func deliver(_ event: MXEvent, state: MXRoomState?) {
        for timeline in timelines { timeline.deliver(event, state: state) }
    }

    func relationsChanged(of eventId: String) {
        for (_, call) in relationListeners.withLock({ $0 }) { call(eventId) }
    }

    func echoConfirmed(_ localEventId: String, as eventId: String) {
        guard let session = mxSession else { return }
        NotificationCenter.default.post(
            name: .mxEventDidChangeIdentifier, object: session,
            userInfo: [kMXSessionNotificationRoomIdKey: roomId, "localEventId": localEventId, "eventId": eventId])
    }
}

extension MXRoom: CustomStringConvertible {
    /// The room's id.
    public var description: String { "room \(roomId)" }
}
