import Basics
public import MatrixProtocol

/// The events of a thread, from the newest back to the event that it began with. Nothing of it is stored: the events of a
/// thread may be missing while others of the room are there, so the homeserver is asked for them
/// (client-server specification, "Threading").
public final class MXThreadTimeline: Sendable {
    private enum Position: Equatable {
        case newest
        case before(String)
        /// All replies were given; the root comes next.
        case root
        case end
    }

    /// The event that the thread began with.
    public let rootId: String
    private let roomId: String
    private let core: SessionCore
    private let position = Lock(Position.newest)

    init(rootId: String, roomId: String, core: SessionCore) {
        (self.rootId, self.roomId, self.core) = (rootId, roomId, core)
    }

    /// Begins anew at the newest event.
    public func resetPagination() { position.withLock { $0 = .newest } }

    /// Whether nothing of it was asked for yet.
    package var isAtNewest: Bool { position.withLock { $0 == .newest } }

    /// Whether there are older events.
    public var canPaginate: Bool { position.withLock { $0 != .end } }

    /// The next older events, newest first; the last of all is the one that the thread began with. None at the end.
    public func paginate(_ count: UInt) async throws -> [MXEvent] {
        let current = position.withLock { $0 }
        let token: String?
        switch current {
        case .newest: token = nil
        case .before(let place): token = place
        case .root:
            let root = try await core.rest.event(withId: rootId, inRoom: roomId)
            position.withLock { if $0 == current { $0 = .end } }
            return try core.decrypted([root], in: roomId)
        case .end: return []
        }
        let page = try await core.rest.relations(
            forEvent: rootId, inRoom: roomId, relationType: "m.thread", from: token, limit: Int(clamping: count))
        let next: Position = if let next = page.nextBatch, next != token { .before(next) } else { .root }
        position.withLock { if $0 == current { $0 = next } }
        let events = try core.decrypted(page.chunk, in: roomId)
        guard next == .root, events.count < Int(clamping: count) else { return events }
        // If it cannot be had, the replies are there all the same, and the next page says why.
        return await events + ((try? paginate(1)) ?? [])
    }
}

extension MXRoom {
    /// The events of the thread that an event began.
    public func timeline(ofThread rootId: String) -> MXThreadTimeline {
        MXThreadTimeline(rootId: rootId, roomId: roomId, core: core)
    }

    /// The threads of the room, the one with the newest answer first: the events that they began with.
    ///
    /// - Parameter from: ``MXRelationsResponse/nextBatch`` of the page before.
    public func threads(from: String? = nil, limit: Int? = nil) async throws -> MXRelationsResponse {
        let page = try await core.rest.threads(inRoom: roomId, from: from, limit: limit)
        return MXRelationsResponse(chunk: try core.decrypted(page.chunk, in: roomId), nextBatch: page.nextBatch)
    }

    /// What there is in the thread that an event began; nil if nobody has answered in one.
    public func threadSummary(of root: MXEvent) -> MXThreadSummary? {
        MXThreadSummary(of: root, stored: storedMessages(ofThread: root.eventId))
    }

    /// The messages of a thread that are stored, oldest first. There may be others.
    public func storedMessages(ofThread rootId: String) -> [MXEvent] {
        storedRelations(to: rootId).filter { $0.threadId == rootId }
    }

    /// Marks as read what is in no thread, up to an event that is in none.
    public func markAsReadOutsideThreads(upTo eventId: String) async throws {
        try await core.rest.sendReadMarkers(toRoom: roomId, fullyRead: eventId)
        try await sendReadReceipt(eventId, threadId: "main")
    }
}
