import Basics
public import JSONBytes
import MatrixProtocol

/// A room that we are in, are invited to, or have knocked on.
///
/// One object for a room as long as its session lives. Once the room is left, it stays as it was and its calls fail.
public final class MXRoom: Sendable {
    /// Opaque; starts with `!`.
    public let roomId: String
    /// What happens, and what happened.
    public let liveTimeline: MXEventTimeline
    let core: SessionCore
    let sendQueue: SendQueue
    private let last: Lock<MXRoomSummary>
    /// Those beside the live one, as long as somebody holds them.
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

    /// A timeline like ``liveTimeline`` that pages for itself.
    package func makeTimeline() -> MXEventTimeline {
        let timeline = MXEventTimeline(roomId: roomId, core: core)
        // Let go of after the lock: listeners are the application's.
        _ = otherTimelines.withLock { others -> [MXEventTimeline] in
            let living = others.compactMap(\.timeline)
            others = (living + [timeline]).map { WeakTimeline(timeline: $0) }
            return living
        }
        return timeline
    }

    /// All that want to hear what happens in the room.
    var timelines: [MXEventTimeline] { [liveTimeline] + otherTimelines.withLock { $0.compactMap(\.timeline) } }

    /// The calls of the homeserver, which a room keeps when its session is gone.
    package var rest: MXRestClient { core.rest }

    /// The session that it belongs to; nil when that is gone.
    public var mxSession: MXSession? { core.session.withLock { $0.session } }

    // MARK: What it is

    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// What a list shows of it. Of a room that was left, what it was.
    public var summary: MXRoomSummary! {
        if let summary = core.account.summary(roomId) { last.withLock { $0 = summary } }
        return last.withLock { $0 }
    }

    /// Its name, or one made of its members.
    public var displayName: String { summary.displayName }

    /// The current state; nil when the room was left, or the store cannot be read. The first access may read the store.
    public var state: MXRoomState? { core.account.roomState(roomId) }

    /// Whether it is a direct chat.
    public var isDirect: Bool { summary.isDirect }

    /// The other user of a direct chat.
    public var directUserId: String? { summary.directUserId }

    /// Who is typing, without ourselves.
    public var typingUsers: [String] { core.account.model { $0.rooms[roomId]?.typingUsers ?? [] } ?? [] }

    /// The room's own account data of a type, such as `m.fully_read`.
    public func accountData(_ type: String) -> JSONView? {
        (core.account.model { $0.rooms[roomId]?.accountData[type] } ?? nil)?.contentJSON
    }

    /// Everybody who is in the room or invited. With lazily loaded members the first call asks the server.
    public func members() async throws -> MXRoomMembers {
        try await core.loadMembers(roomId)
        return state?.members ?? MXRoomMembers()
    }

    /// A member, or somebody who was one when what was paged through was said. Does not load the whole state.
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

    /// The newest messages that are stored, oldest first, without a network.
    ///
    /// - Parameter limit: How many at most.
    public func storedMessages(limit: Int = 50) throws -> [MXEvent] {
        try core.account.store { store throws(MatrixError) in
            Array(try store.events(in: roomId, before: nil, limit: limit).reversed())
        }
    }

    /// An event of the room: from the store, else from the server.
    public func event(withId eventId: String) async throws -> MXEvent {
        if let event = try core.account.event(eventId, in: roomId) {
            return try core.lookedAt([event], in: roomId).first ?? event
        }
        let event = try await core.rest.event(withId: eventId, inRoom: roomId)
        return try core.decrypted([event], in: roomId).first ?? event
    }

    /// An event of the room, if it is stored.
    package func storedEvent(_ eventId: String) -> MXEvent? { (try? core.account.event(eventId, in: roomId)) ?? nil }

    /// What stored events say about each of others that anything is said about: edits, reactions, votes, answers in threads.
    ///
    /// ``edited(_:)`` and ``aggregations(forEvent:)`` find it in memory afterwards.
    package func storedRelations(toEach eventIds: [String]) -> MXDictionary<[MXEvent]> {
        core.account.readRelations(ofEach: eventIds, in: roomId)
    }

    package func storedRelations(to eventId: String) -> [MXEvent] {
        storedRelations(toEach: [eventId])[eventId] ?? []
    }

    /// The newest message that a list shows.
    public var lastMessage: MXEvent? {
        guard let id = summary.lastMessageId else { return nil }
        return try? core.account.event(id, in: roomId)
    }

    /// Messages of our own that no sync has brought back yet, oldest first: those on their way, those that have failed, and
    /// those that the server has already. Their ``MXEvent/transactionId`` is that of the event that a sync brings.
    public var outgoingMessages: [MXEvent] {
        (core.account.model { $0.rooms[roomId]?.outgoing ?? [] } ?? []).compactMap { $0.event(sender: core.userId) }
    }

    /// A timeline around an event, for a permalink. It is not live, and nothing of it is stored.
    public func timeline(onEvent eventId: String) -> MXContextTimeline {
        MXContextTimeline(eventId: eventId, roomId: roomId, core: core)
    }

    // MARK: What others say about an event

    /// Reactions to an event and edits of it, as far as they are known here; nil if there are none.
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

    /// The event as it reads now: with the content of its newest edit.
    public func edited(_ event: MXEvent) -> MXEvent {
        core.account.loadRelations(of: event.eventId, in: roomId)
        return core.account.model { $0.rooms[roomId]?.relations.edited(event) ?? event } ?? event
    }

    /// Calls back with the id of each event about which there is something new: a reaction more or less, an edit, a vote in a
    /// poll. On the session's completion queue.
    ///
    /// - Returns: What ``removeListener(_:)`` takes.
    public func listenToRelations(_ block: @escaping @Sendable (String) -> Void) -> Any {
        let listener = MXEventListener()
        relationListeners.withLock { $0.append((listener, block)) }
        return listener
    }

    /// Ends the calls of a listener of ``listenToRelations(_:)``.
    public func removeListener(_ listener: Any) {
        guard let listener = listener as? MXEventListener else { return }
        // Let go of after the lock.
        _ = relationListeners.withLock { listeners in
            defer { listeners.removeAll { $0.id === listener } }
            return listeners
        }
    }

    /// Tells the listeners of every timeline.
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
    /// Its id.
    public var description: String { "room \(roomId)" }
}
