import Basics
import JSONBytes

/// Our own messages that no sync has returned yet (client-server specification, "Local echo").
extension SessionModel {
    /// Marks the messages that were being sent when the session closed as failed. They may have arrived, so they can be
    /// retried with the same transaction id.
    ///
    /// - Returns: The failed messages to store.
    package mutating func failInterruptedMessages() -> [MXOutgoingEvent] {
        var changed: [MXOutgoingEvent] = []
        for (roomId, room) in rooms {
            for (index, event) in room.outgoing.enumerated() where event.state != .sent {
                // A sync may have returned it without its transaction id, and the store may have trimmed it since.
                rooms[roomId]?.outgoing[index].hasMetGap = true
                guard event.state != .failed else { continue }
                rooms[roomId]?.outgoing[index].state = .failed
                rooms[roomId]?.outgoing[index].failure = "the program ended before the server had confirmed it"
                if let event = rooms[roomId]?.outgoing[index] { changed.append(event) }
            }
        }
        return changed
    }

    /// Makes the next sync a first one.
    package mutating func forgetSyncToken() { syncToken = nil }

    /// Appends a message to the pending ones. A reaction appears at once.
    package mutating func add(outgoing event: MXOutgoingEvent) {
        guard rooms[event.roomId] != nil else { return }
        rooms[event.roomId]?.outgoing.append(event)
        roomsWithOutgoing.insert(event.roomId)
        if let echo = event.reaction(sender: userId) { rooms[event.roomId]?.relations.add(echo) }
    }

    /// Updates the progress of a message. A failed reaction is no longer shown.
    ///
    /// - Returns: The message to store; `nil` if it is no longer pending, because a sync returned it or it was removed.
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

    /// Prepares a failed message to be sent again.
    ///
    /// - Returns: `nil` if there is no failed message with this id.
    package mutating func resume(outgoing localEventId: String, in roomId: String) -> MXOutgoingEvent? {
        guard var event = outgoing(localEventId, in: roomId), event.state == .failed else { return nil }
        (event.state, event.failure) = (.preparing, nil)
        return update(outgoing: event)
    }

    /// Removes a message that is no longer pending.
    package mutating func removeOutgoing(_ event: MXOutgoingEvent) {
        rooms[event.roomId]?.outgoing.removeAll { $0.transactionId == event.transactionId }
        rooms[event.roomId]?.relations.remove(event.localEventId)
    }

    /// Records that the server has the message. It appears under its server id until a sync returns it.
    ///
    /// - Parameter isStored: Whether a sync has already returned it, without its transaction id.
    /// - Returns: The changes to store; `nil` if a sync has already confirmed it.
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

/// Changes that do not come from a sync.
extension SessionModel {
    /// Applies a receipt of our own that the server has accepted, without waiting for a sync.
    ///
    /// - Parameters:
    ///   - threadId: `main`, the root of a thread, or `nil` for the whole room.
    ///   - ts: The time in milliseconds since 1970.
    package mutating func tookReceipt(
        _ roomId: String, upTo eventId: String, threadId: String?, ts: UInt64 = 0, in store: any MXStore
    ) throws(MatrixError) -> MXStoreChanges? {
        guard let before = rooms[roomId]?.summary else { return nil }
        let receipt = MXReceipt(userId: userId, eventId: eventId, threadId: threadId, ts: ts)
        let receipts = OwnReceipts(of: userId, [receipt] + (try store.receipts(in: roomId, of: userId)))
        let events = try store.events(in: roomId, before: nil, limit: OwnReceipts.horizon)
        // A gap since then can contain anything, so the server's counts are needed.
        guard events.contains(where: { $0.eventId.isExactly(eventId) }) else { return nil }
        let unread = receipts.unread(in: events, ignoring: ignoredUsers) {
            $0.sender.isExactly(userId) && $0.saysSomething
        }
        rooms[roomId]?.summary.read(threadId, unread)
        guard let summary = rooms[roomId]?.summary, summary != before else { return nil }
        var changes = MXStoreChanges()
        changes.rooms[roomId, default: .init()].summary = summary
        // A receipt for another part of the room may arrive before a sync returns this one.
        changes.rooms[roomId]?.receipts = [receipt]
        return changes
    }

    /// Adds older events from the server.
    ///
    /// - Parameters:
    ///   - token: Where the history continues; `nil` at the beginning of the room.
    ///   - members: The senders of these events, as they were then. With lazy loading, the state may lack them.
    ///   - hasLastMessage: Whether the store has the last message in the summary. If so, no older one replaces it.
    package mutating func paginated(
        _ roomId: String, older: [MXEvent], token: String?, members: [MXEvent], hasLastMessage: Bool
    ) -> MXStoreChanges {
        var changes = MXStoreChanges()
        rooms[roomId]?.summary.paginationToken = token
        let version = rooms[roomId]?.version
        let older = older.map { rooms[roomId]?.current($0) ?? $0 }
        for event in older { rooms[roomId]?.relations.add(event, in: version) }
        // Messages that were pending at a gap may be in it.
        for event in older where event.sender.isExactly(userId) {
            guard let echo = rooms[roomId]?.outgoing.first(where: { $0.stands(for: event) }) else { continue }
            removeOutgoing(echo)
            changes.sentOutgoing.append(echo.transactionId)
        }
        if !hasLastMessage {
            let last = older.first { $0.isLastMessage(for: userId) }
            let known = rooms[roomId]?.summary.lastMessageId
            // A message from before a gap may have been redacted in it.
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

    /// Records that the store has trimmed the oldest events.
    ///
    /// - Parameter token: Where the server's history continues before the remaining events.
    package mutating func trimmed(_ roomId: String, token: String) {
        rooms[roomId]?.summary.paginationToken = token
        // A pending message of our own may be among them, and no sync returns it again.
        for index in rooms[roomId]?.outgoing.indices ?? 0..<0 { rooms[roomId]?.outgoing[index].hasMetGap = true }
    }

    /// Applies the complete list of members.
    ///
    /// - Parameters:
    ///   - before: The members known at the time of the request.
    ///   - origin: The room's ``RoomModel/origin`` at that time.
    /// - Returns: `nil` if the whole room was received since, which makes the list obsolete.
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

    /// Returns whether an event's relations have not been loaded from the store.
    package func needsRelations(of eventId: String, in roomId: String) -> Bool {
        guard let room = rooms[roomId] else { return false }
        // Loaded relations may have been evicted since.
        return room.relations.evictions != room.evictionsWhenLoaded || !room.loadedRelations.contains(eventId)
    }

    /// Adds the relations of events.
    ///
    /// - Returns: The ids of the events whose relations changed.
    package mutating func note(_ events: [MXEvent], in roomId: String) -> [String] {
        let version = rooms[roomId]?.version
        return events.compactMap { rooms[roomId]?.relations.add($0, in: version) }
    }

    /// Applies a redaction.
    ///
    /// - Returns: The id of the event whose relations changed.
    package mutating func redacted(_ eventId: String, in roomId: String) -> String? {
        rooms[roomId]?.relations.redact(eventId)
    }

    /// Adds the loaded relations of events.
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
    /// Returns the event to show until a sync returns it.
    package func event(sender: String) -> MXEvent? {
        guard let content = JSONView(Array(content.utf8))?.foundation as? [String: Any] else { return nil }
        let event = MXEvent(
            type: type, content: content, eventId: eventId ?? localEventId, sender: sender, roomId: roomId,
            originServerTs: ts, unsigned: ["transaction_id": transactionId])
        // As it will be after the sync.
        let isEncrypted = encryptedContent != nil
        let read = isEncrypted ? event.flatMap { $0.withDecrypted($0.json) } : event
        return read?.withSentState(state, failure: failure)
    }

    /// Returns whether this is the local echo of an event in a sync.
    func stands(for event: MXEvent) -> Bool { transactionId == event.transactionId || eventId == event.eventId }

    /// Returns the event if it is a reaction.
    package func reaction(sender: String) -> MXEvent? { type == "m.reaction" ? event(sender: sender) : nil }

    /// The id of the event that this one reacts to or edits.
    package var target: String? {
        event(sender: "")?.relatesTo.flatMap { $0.relationType == "m.thread" ? nil : $0.eventId }
    }
}
