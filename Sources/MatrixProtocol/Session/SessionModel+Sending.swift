import JSONBytes

/// Messages of our own that no sync has brought back yet (reference: local echo).
extension SessionModel {
    /// What was on its way when the session was closed may have arrived or not: it counts as failed, and may be sent again
    /// under the same transaction id.
    package mutating func failInterruptedMessages() -> [MXOutgoingEvent] {
        var changed: [MXOutgoingEvent] = []
        for (roomId, room) in rooms {
            for (index, event) in room.outgoing.enumerated() where event.state != .failed && event.state != .sent {
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
        rooms[event.roomId]?.outgoing.append(event)
        if let echo = event.reaction(sender: userId) { rooms[event.roomId]?.relations.add(echo) }
    }

    /// Takes over how far a message has come. A reaction that has failed is not shown any more.
    ///
    /// - Returns: False if it is not on its way any more: a sync has brought it, or it was given up.
    package mutating func update(outgoing event: MXOutgoingEvent) -> Bool {
        let roomId = event.roomId
        guard
            let index = rooms[roomId]?.outgoing.firstIndex(where: { $0.transactionId == event.transactionId })
        else { return false }
        rooms[roomId]?.outgoing[index] = event
        if event.state == .failed {
            rooms[roomId]?.relations.remove(event.localEventId)
        } else if let echo = event.reaction(sender: userId) {
            rooms[roomId]?.relations.add(echo)
        }
        return true
    }

    /// Takes a message that has failed to be sent again.
    ///
    /// - Returns: Nil if there is none of that id.
    package mutating func resume(outgoing localEventId: String, in roomId: String) -> MXOutgoingEvent? {
        guard var event = outgoing(localEventId, in: roomId), event.state == .failed else { return nil }
        (event.state, event.failure) = (.preparing, nil)
        return update(outgoing: event) ? event : nil
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

    /// Everything up to now is read: a receipt is on its way.
    package mutating func markRead(_ roomId: String) -> MXRoomSummary? {
        rooms[roomId]?.summary.notificationCount = 0
        rooms[roomId]?.summary.highlightCount = 0
        rooms[roomId]?.summary.localUnreadEventCount = 0
        return rooms[roomId]?.summary
    }

    /// The receipt could not be sent.
    package mutating func restoreCounts(of old: MXRoomSummary) -> MXRoomSummary? {
        guard let now = rooms[old.roomId]?.summary, now.notificationCount == 0, now.localUnreadEventCount == 0 else {
            return nil
        }
        rooms[old.roomId]?.summary.notificationCount = old.notificationCount
        rooms[old.roomId]?.summary.highlightCount = old.highlightCount
        rooms[old.roomId]?.summary.localUnreadEventCount = old.localUnreadEventCount
        return rooms[old.roomId]?.summary
    }
}

/// What the session has learnt otherwise than by a sync.
extension SessionModel {
    /// Older events came from the server.
    ///
    /// - Parameters:
    ///   - token: Where it goes on; nil at the beginning of the room.
    ///   - members: Those who say something in these events, as they were then: with members that come late the state may
    ///     lack them.
    package mutating func paginated(_ roomId: String, older: [MXEvent], token: String?, members: [MXEvent])
        -> MXStoreChanges
    {
        var changes = MXStoreChanges()
        rooms[roomId]?.summary.paginationToken = token
        let version = rooms[roomId]?.version
        for event in older { rooms[roomId]?.relations.add(event, in: version) }
        var room = MXStoreChanges.Room()
        room.older = older
        room.olderToken = token
        room.summary = rooms[roomId]?.summary
        changes.rooms[roomId] = room
        for event in members where event.type == "m.room.member" {
            if let userId = event.stateKey { rooms[roomId]?.earlierMembers[userId] = event.compact }
        }
        return changes
    }

    /// The store has let the oldest events go.
    ///
    /// - Parameter token: Where the server's history goes on before those that are left.
    package mutating func trimmed(_ roomId: String, token: String) {
        rooms[roomId]?.summary.paginationToken = token
    }

    /// The list of members is complete.
    ///
    /// - Parameter before: Those that were known when the list was asked for.
    package mutating func membersLoaded(
        _ roomId: String, _ members: [MXEvent], before: MXRoomMembers
    ) -> MXStoreChanges {
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

    /// Takes over what others say about an event.
    package mutating func add(relations events: [MXEvent], of eventId: String, in roomId: String) {
        let version = rooms[roomId]?.version
        for event in events { rooms[roomId]?.relations.add(event, in: version) }
        guard let room = rooms[roomId] else { return }
        if room.loadedRelations.count > 1_000 || room.relations.evictions != room.evictionsWhenLoaded {
            rooms[roomId]?.loadedRelations = []
        }
        rooms[roomId]?.evictionsWhenLoaded = room.relations.evictions
        rooms[roomId]?.loadedRelations.insert(eventId)
    }
}

extension MXOutgoingEvent {
    /// The event as it is shown until a sync brings it.
    package func event(sender: String) -> MXEvent? {
        guard let content = JSONView(Array(content.utf8))?.foundation as? [String: Any] else { return nil }
        let event = MXEvent(
            type: type, content: content, eventId: eventId ?? localEventId, sender: sender, roomId: roomId,
            originServerTs: ts, unsigned: ["transaction_id": transactionId])
        return event?.withSentState(state, failure: failure)
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
