import Basics
import JSONBytes

/// Messages of our own that no sync has brought back yet (client-server specification, "Local echo").
extension SessionModel {
    /// What was on its way when the session was closed may have arrived or not: it counts as failed, and may be sent again
    /// under the same transaction id.
    ///
    /// - Returns: Those that have failed by that, to be stored.
    package mutating func failInterruptedMessages() -> [MXOutgoingEvent] {
        var changed: [MXOutgoingEvent] = []
        for (roomId, room) in rooms {
            for (index, event) in room.outgoing.enumerated() where event.state != .sent {
                // A sync may have brought it without its transaction id, and the store may have let it go since.
                rooms[roomId]?.outgoing[index].hasMetGap = true
                guard event.state != .failed else { continue }
                rooms[roomId]?.outgoing[index].state = .failed
                rooms[roomId]?.outgoing[index].failure = "the program ended before the server had confirmed it"
                if let event = rooms[roomId]?.outgoing[index] { changed.append(event) }
            }
        }
        return changed
    }

    /// The next sync is a first one.
    package mutating func forgetSyncToken() { syncToken = nil }

    /// Puts a message behind those that are on their way. A reaction is shown at once.
    package mutating func add(outgoing event: MXOutgoingEvent) {
        guard rooms[event.roomId] != nil else { return }
        rooms[event.roomId]?.outgoing.append(event)
        roomsWithOutgoing.insert(event.roomId)
        if let echo = event.reaction(sender: userId) { rooms[event.roomId]?.relations.add(echo) }
    }

    /// Takes over how far a message has come. A reaction that has failed is not shown any more.
    ///
    /// - Returns: What is to be stored; nil if it is not on its way any more: a sync has brought it, or it was given up.
    package mutating func update(outgoing event: MXOutgoingEvent) -> MXOutgoingEvent? {
        let roomId = event.roomId
        guard
            let index = rooms[roomId]?.outgoing.firstIndex(where: { $0.transactionId == event.transactionId })
        else { return nil }
        var event = event
        event.hasMetGap = event.hasMetGap || rooms[roomId]?.outgoing[index].hasMetGap == true
        rooms[roomId]?.outgoing[index] = event
        if event.state == .failed {
            rooms[roomId]?.relations.remove(event.localEventId)
        } else if let echo = event.reaction(sender: userId) {
            rooms[roomId]?.relations.add(echo)
        }
        return event
    }

    /// Takes a message that has failed to be sent again.
    ///
    /// - Returns: Nil if there is none of that id.
    package mutating func resume(outgoing localEventId: String, in roomId: String) -> MXOutgoingEvent? {
        guard var event = outgoing(localEventId, in: roomId), event.state == .failed else { return nil }
        (event.state, event.failure) = (.preparing, nil)
        return update(outgoing: event)
    }

    /// The message is no longer on its way.
    package mutating func removeOutgoing(_ event: MXOutgoingEvent) {
        rooms[event.roomId]?.outgoing.removeAll { $0.transactionId == event.transactionId }
        rooms[event.roomId]?.relations.remove(event.localEventId)
    }

    /// The server has it: it stands there under its id until a sync brings it.
    ///
    /// - Parameter isStored: A sync has brought it, and did not say under which transaction id it was sent.
    /// - Returns: What is to be stored; nil if a sync has confirmed it before.
    package mutating func confirm(_ event: MXOutgoingEvent, as eventId: String, isStored: Bool) -> MXStoreChanges? {
        guard let echo = outgoing(event.localEventId, in: event.roomId) else { return nil }
        var (sent, changes) = (echo, MXStoreChanges())
        (sent.state, sent.eventId, sent.content, sent.failure) = (.sent, eventId, event.content, nil)
        rooms[event.roomId]?.relations.remove(echo.localEventId)
        if isStored {
            removeOutgoing(sent)
            changes.sentOutgoing = [sent.transactionId]
        } else {
            _ = update(outgoing: sent)
            if let event = sent.event(sender: userId) { rooms[event.roomId ?? ""]?.relations.add(event) }
            changes.outgoing = [sent]
        }
        return changes
    }

    package func outgoing(_ localEventId: String, in roomId: String) -> MXOutgoingEvent? {
        rooms[roomId]?.outgoing.first { $0.localEventId == localEventId }
    }
}

/// What the session has learnt otherwise than by a sync.
extension SessionModel {
    /// The server has taken a receipt of our own: no sync needs to say so.
    ///
    /// - Parameters:
    ///   - threadId: `main` or the root of a thread; nil for the whole room.
    ///   - ts: Milliseconds since 1970.
    package mutating func tookReceipt(
        _ roomId: String, upTo eventId: String, threadId: String?, ts: UInt64 = 0, in store: any MXStore
    ) throws(MatrixError) -> MXStoreChanges? {
        guard let before = rooms[roomId]?.summary else { return nil }
        let receipt = MXReceipt(userId: userId, eventId: eventId, threadId: threadId, ts: ts)
        let receipts = OwnReceipts(of: userId, [receipt] + (try store.receipts(in: roomId, of: userId)))
        let events = try store.events(in: roomId, before: nil, limit: OwnReceipts.horizon)
        // Behind a gap that has come meanwhile there may be anything: the server's counts tell.
        guard events.contains(where: { $0.eventId.isExactly(eventId) }) else { return nil }
        let unread = receipts.unread(in: events, ignoring: ignoredUsers) {
            $0.sender.isExactly(userId) && $0.saysSomething
        }
        rooms[roomId]?.summary.read(threadId, unread)
        guard let summary = rooms[roomId]?.summary, summary != before else { return nil }
        var changes = MXStoreChanges()
        changes.rooms[roomId, default: .init()].summary = summary
        // One for another part of the room may come before a sync brings it.
        changes.rooms[roomId]?.receipts = [receipt]
        return changes
    }

    /// Older events came from the server.
    ///
    /// - Parameters:
    ///   - token: Where it goes on; nil at the beginning of the room.
    ///   - members: Those who say something in these events, as they were then: with members that come late the state may
    ///     lack them.
    ///   - hasLastMessage: Whether the store has the last message that the summary names: no older one takes its place.
    package mutating func paginated(
        _ roomId: String, older: [MXEvent], token: String?, members: [MXEvent], hasLastMessage: Bool
    ) -> MXStoreChanges {
        var changes = MXStoreChanges()
        rooms[roomId]?.summary.paginationToken = token
        let version = rooms[roomId]?.version
        let older = older.map { rooms[roomId]?.current($0) ?? $0 }
        for event in older { rooms[roomId]?.relations.add(event, in: version) }
        // What was on its way when a gap came may have stood in it.
        for event in older where event.sender.isExactly(userId) {
            guard let echo = rooms[roomId]?.outgoing.first(where: { $0.stands(for: event) }) else { continue }
            removeOutgoing(echo)
            changes.sentOutgoing.append(echo.transactionId)
        }
        if !hasLastMessage {
            let last = older.first { $0.isLastMessage(for: userId) }
            let known = rooms[roomId]?.summary.lastMessageId
            // One from before a gap may have been redacted in it.
            if last != nil || known == nil || older.contains(where: { $0.eventId == known }) {
                rooms[roomId]?.summary.setLastMessage(last.map { ($0.eventId, $0.originServerTs) })
            }
        }
        var room = MXStoreChanges.Room()
        room.older = older
        room.olderToken = token
        room.summary = rooms[roomId]?.summary
        changes.rooms[roomId] = room
        for event in members where event.type == "m.room.member" {
            if let userId = event.stateKey { rooms[roomId]?.earlierMembers[ByteKey(userId)] = event.compact }
        }
        return changes
    }

    /// The store has let the oldest events go.
    ///
    /// - Parameter token: Where the server's history goes on before those that are left.
    package mutating func trimmed(_ roomId: String, token: String) {
        rooms[roomId]?.summary.paginationToken = token
        // A message of our own that is on its way may be among those: no sync brings it again.
        for index in rooms[roomId]?.outgoing.indices ?? 0..<0 { rooms[roomId]?.outgoing[index].hasMetGap = true }
    }

    /// The list of members is complete.
    ///
    /// - Parameters:
    ///   - before: Those that were known when the list was asked for.
    ///   - origin: The room's ``RoomModel/origin`` at that time.
    /// - Returns: Nil if the room was told as a whole since, which makes the list void.
    package mutating func membersLoaded(
        _ roomId: String, _ members: [MXEvent], before: MXRoomMembers, of origin: String?
    ) -> MXStoreChanges? {
        guard rooms[roomId]?.origin == origin else { return nil }
        var changes = MXStoreChanges()
        var room = MXStoreChanges.Room()
        rooms[roomId]?.state?.setMembers(members, before: before)
        rooms[roomId]?.refreshSummary(currentUser: userId, directRooms: directUsers)
        rooms[roomId]?.summary.membersAreComplete = true
        room.replacesState = true
        room.state = rooms[roomId]?.state?.stateEvents ?? []
        room.summary = rooms[roomId]?.summary
        changes.rooms[roomId] = room
        return changes
    }

    /// Whether the store was not asked yet what others say about an event.
    package func needsRelations(of eventId: String, in roomId: String) -> Bool {
        guard let room = rooms[roomId] else { return false }
        // What was loaded may have been let go of since.
        return room.relations.evictions != room.evictionsWhenLoaded || !room.loadedRelations.contains(eventId)
    }

    /// Takes note of what events say about others.
    ///
    /// - Returns: The events about which there is something new.
    package mutating func note(_ events: [MXEvent], in roomId: String) -> [String] {
        let version = rooms[roomId]?.version
        return events.compactMap { rooms[roomId]?.relations.add($0, in: version) }
    }

    /// An event is redacted.
    ///
    /// - Returns: The event about which there is something new.
    package mutating func redacted(_ eventId: String, in roomId: String) -> String? {
        rooms[roomId]?.relations.redact(eventId)
    }

    /// Takes over what others say about events.
    package mutating func add(relations: MXDictionary<[MXEvent]>, ofEach eventIds: [String], in roomId: String) {
        let version = rooms[roomId]?.version
        for id in eventIds {
            for event in relations[id] ?? [] { rooms[roomId]?.relations.add(event, in: version) }
        }
        guard let room = rooms[roomId] else { return }
        if room.loadedRelations.count > 1_000 || room.relations.evictions != room.evictionsWhenLoaded {
            rooms[roomId]?.loadedRelations = []
        }
        rooms[roomId]?.evictionsWhenLoaded = room.relations.evictions
        rooms[roomId]?.loadedRelations.formUnion(Set(texts: eventIds))
    }
}

extension MXOutgoingEvent {
    /// The event as it is shown until a sync brings it.
    package func event(sender: String) -> MXEvent? {
        guard let content = JSONView(Array(content.utf8))?.foundation as? [String: Any] else { return nil }
        let event = MXEvent(
            type: type, content: content, eventId: eventId ?? localEventId, sender: sender, roomId: roomId,
            originServerTs: ts, unsigned: ["transaction_id": transactionId])
        // As it will be once it is back.
        let isEncrypted = encryptedContent != nil
        let read = isEncrypted ? event.flatMap { $0.withDecrypted($0.json) } : event
        return read?.withSentState(state, failure: failure)
    }

    /// Whether this is what stands for an event that a sync has brought.
    func stands(for event: MXEvent) -> Bool { transactionId == event.transactionId || eventId == event.eventId }

    /// The event if it is a reaction.
    package func reaction(sender: String) -> MXEvent? { type == "m.reaction" ? event(sender: sender) : nil }

    /// The event that this one reacts to or edits.
    package var target: String? {
        event(sender: "")?.relatesTo.flatMap { $0.relationType == "m.thread" ? nil : $0.eventId }
    }
}
