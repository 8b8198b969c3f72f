import Basics
public import MatrixProtocol

/// The events of a thread, from the newest back to the root event. None of it is stored: a thread's events may be
/// missing although others of the room are stored, so they are requested from the homeserver (client-server
/// specification, "Threading").
public final class MXThreadTimeline: Sendable {
    private enum Position: Equatable {
        case newest
        case before(String)
        /// All replies have been returned; the root comes next.
        case root
        case end
    }

    /// The thread's root event.
    public let rootId: String
    private let roomId: String
    private let core: SessionCore
    private let position = Lock(Position.newest)

    init(rootId: String, roomId: String, core: SessionCore) {
        (self.rootId, self.roomId, self.core) = (rootId, roomId, core)
    }

    /// Starts anew at the newest event.
    public func resetPagination() { position.withLock { $0 = .newest } }

    /// Whether nothing has been requested yet.
    package var isAtNewest: Bool { position.withLock { $0 == .newest } }

    /// Whether there are older events.
    public var canPaginate: Bool { position.withLock { $0 != .end } }

    /// Returns the next older events, newest first, ending with the root event. Empty at the end.
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
        // If the root is unavailable, still return the replies; the next page reports why.
        return await events + ((try? paginate(1)) ?? [])
    }
}

extension MXRoom {
    /// Returns the timeline of the thread with this root event.
    public func timeline(ofThread rootId: String) -> MXThreadTimeline {
        MXThreadTimeline(rootId: rootId, roomId: roomId, core: core)
    }

    /// Returns the root events of the room's threads. The thread with the newest reply comes first.
    ///
    /// - Parameter from: ``MXRelationsResponse/nextBatch`` of the previous page.
    public func threads(from: String? = nil, limit: Int? = nil) async throws -> MXRelationsResponse {
        let page = try await core.rest.threads(inRoom: roomId, from: from, limit: limit)
        return MXRelationsResponse(chunk: try core.decrypted(page.chunk, in: roomId), nextBatch: page.nextBatch)
    }

    /// Returns a summary of the thread with this root event, or `nil` if it has no replies.
    public func threadSummary(of root: MXEvent) -> MXThreadSummary? {
        MXThreadSummary(of: root, stored: storedMessages(ofThread: root.eventId))
    }

    /// Returns the stored messages of a thread, oldest first. There may be others.
    public func storedMessages(ofThread rootId: String) -> [MXEvent] {
        storedRelations(to: rootId).filter { $0.threadId == rootId }
    }

    /// Marks everything outside threads as read, up to an event outside threads.
    public func markAsReadOutsideThreads(upTo eventId: String) async throws {
        try await core.rest.sendReadMarkers(toRoom: roomId, fullyRead: eventId)
        try await sendReadReceipt(eventId, threadId: "main")
    }
}
