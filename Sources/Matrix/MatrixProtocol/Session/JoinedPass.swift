import Basics
import JSONBytes

/// Applies one joined room's section of a sync answer to the room's model.
struct JoinedPass {
    let section: SyncResponse.Room
    let userId: String
    /// Whether the room was not joined before.
    let isNew: Bool
    let isInitial: Bool
    /// See ``MXStoreChanges/keepsAnswer``.
    let keepsAnswer: Bool
    /// Whether there is a gap between the stored timeline and the section's.
    private(set) var isGap = false
    /// Whether to report events that are already known.
    let tellsKnown: Bool
    /// Whether events are history: from before we joined, or from a first sync. They are not reported.
    private var isHistory: Bool
    let wantsState: Bool
    let pushRules: PushRules
    let ignoredUsers: Set<ByteKey>

    var changes = MXStoreChanges.Room()
    private(set) var notices: [SessionNotice] = []
    /// The transaction ids of our own messages that the sync returned.
    private(set) var sentOutgoing: [String] = []
    /// The pending messages that have changed.
    private(set) var outgoing: [MXOutgoingEvent] = []
    private(set) var newMembers: [MXEvent] = []
    /// The polls whose votes or ends have changed.
    private var changedPolls: Set<ByteKey> = []
    /// The room's last message so far. After a gap it stays until a newer one is known.
    private var lastMessageBefore: (id: String, ts: UInt64)?

    init(
        section: SyncResponse.Room, userId: String, isNew: Bool, isInitial: Bool, keepsAnswer: Bool, tellsKnown: Bool,
        wantsState: Bool, pushRules: PushRules, ignoredUsers: Set<ByteKey>
    ) {
        (self.section, self.userId, self.isNew, self.isInitial) = (section, userId, isNew, isInitial)
        (self.keepsAnswer, self.tellsKnown) = (keepsAnswer, tellsKnown)
        isHistory = isInitial
        (self.wantsState, self.pushRules, self.ignoredUsers) = (wantsState, pushRules, ignoredUsers)
    }

    mutating func run(_ room: inout RoomModel, store: any MXStore) throws(MatrixError) {
        changes.replacesState = isNew
        if isNew { changes.strippedState = [] }
        lastMessageBefore = room.summary.lastMessageId.map { ($0, room.summary.lastMessageTs) }
        takeCounts(&room)
        let known = try knownEvents(room, store)
        startTimeline(&room, overlaps: !known.isEmpty)
        if !section.hasStateAfter { takeState(&room) }
        try applyTimeline(known, &room, store)
        if section.hasStateAfter { takeState(&room) }
        if changes.replacesState, !isNew { changes.state = room.state?.stateEvents ?? [] }
        try applyEphemeral(&room, store)
        for event in section.accountData {
            room.set(accountData: event)
            changes.accountData.append(event)
            notices.append(.roomAccountData(event))
        }
        room.summary.takeUnread(section)
    }

    private func takeCounts(_ room: inout RoomModel) {
        let summary = section.summary
        if let heroes = summary.heroes {
            room.summary.heroes = heroes
            room.isSummaryDue = true
        }
        guard summary.joinedMemberCount != nil || summary.invitedMemberCount != nil else { return }
        room.isSummaryDue = true
        room.summary.hasServerCounts = true
        room.summary.joinedMembersCount = summary.joinedMemberCount ?? room.summary.joinedMembersCount
        room.summary.invitedMembersCount = summary.invitedMemberCount ?? room.summary.invitedMembersCount
    }

    /// - Returns: The ids of the section's timeline events that are already stored.
    private func knownEvents(_ room: RoomModel, _ store: any MXStore) throws(MatrixError) -> Set<ByteKey> {
        guard !isNew, !section.timeline.events.isEmpty else { return [] }
        return Set(texts: try store.knownEvents(among: section.timeline.events.map(\.eventId), in: room.summary.roomId))
    }

    /// Resets the stored timeline after a gap; the server has the older events. If the section overlaps with stored
    /// events, there is no gap whatever the server reports: we have left and rejoined meanwhile.
    private mutating func startTimeline(_ room: inout RoomModel, overlaps: Bool) {
        let lastJoining = section.timeline.events.last(where: joins)
        isHistory = isInitial || (isNew || tellsKnown) && lastJoining != nil
        // The gap does not depend on `tellsKnown`.
        isGap = section.timeline.isLimited && !overlaps && !isInitial && !(isNew && lastJoining != nil)
        // With lazy loading, the server need not report who left in the gap, and they must not receive keys.
        if section.timeline.isLimited { room.summary.membersAreComplete = false }
        guard isNew || isGap else { return }
        changes.dropsTimeline = !isNew
        room.summary.paginationToken = section.timeline.prevBatch
        // Messages that the server has are in the gap or in this section.
        sentOutgoing += room.outgoing.filter { $0.state == .sent }.map(\.transactionId)
        room.outgoing.removeAll { $0.state == .sent }
        // The others may reach the server without any sync reporting it.
        for index in room.outgoing.indices { room.outgoing[index].hasMetGap = true }
        outgoing = room.outgoing
    }

    /// Applies the state. If it contains the room's creation, it is complete: we have left and rejoined meanwhile. With
    /// lazy loading, it does not report who has left either.
    private mutating func takeState(_ room: inout RoomModel) {
        if !isNew, section.state.contains(where: { $0.type == "m.room.create" && $0.isState }) {
            room.state?.forgetMembers()
            room.summary.membersAreComplete = false
            changes.replacesState = true
        }
        applyState(section.state, &room)
    }

    private mutating func applyState(_ events: [MXEvent], _ room: inout RoomModel) {
        for event in events where event.isState {
            let event = keepsAnswer ? event : event.compact
            room.state?.apply(event)
            changes.state.append(event)
            if event.type == "m.room.member" { newMembers.append(event) }
        }
    }

    // MARK: Timeline

    private mutating func applyTimeline(
        _ stored: Set<ByteKey>, _ room: inout RoomModel, _ store: any MXStore
    ) throws(MatrixError) {
        var events = section.timeline.events[...]
        let lastJoining = events.last(where: joins)?.eventId
        if section.timeline.isLimited, let first = events.firstIndex(where: { stored.contains($0.eventId) }) {
            // Events before the stored ones are older, and not new.
            for event in events[..<first] { takeKnown(event, lastJoining, &room) }
            events = events[first...]
        }
        var known = stored
        for event in events {
            let id = event.eventId
            guard !id.isEmpty else { continue }  // not part of the timeline
            guard known.insert(id) else {
                takeKnown(event, lastJoining, &room)
                continue
            }
            let isRedaction = event.type == "m.room.redaction"
            if let poll = event.pollStartId { changedPolls.insert(poll) }
            if isRedaction { try applyRedaction(event, &room, store) }
            if !isHistory { tell(event, room) }
            if event.isState, !section.hasStateAfter { applyState([event], &room) }
            endHistory(with: event, lastJoining)
            changes.timeline.append(event)
            if let target = room.relations.add(event, in: isRedaction ? room.version : nil), !isHistory {
                notices.append(.relationsChanged(roomId: room.summary.roomId, eventId: target))
            }
            confirmEcho(event, &room)
            count(event, &room)
        }
        // `prev_batch` applies only if the section's first event is new.
        if changes.timeline.first?.eventId == section.timeline.events.first?.eventId {
            changes.timelineToken = section.timeline.prevBatch
        }
        guard !isHistory else { return }
        // Report each poll once, since its votes are recounted each time.
        for poll in changedPolls.map(\.string).sorted() {
            notices.append(.relationsChanged(roomId: room.summary.roomId, eventId: poll))
        }
    }

    /// Handles an event that is already stored. The section's state is older than it all the same.
    private mutating func takeKnown(_ event: MXEvent, _ lastJoining: String?, _ room: inout RoomModel) {
        if tellsKnown, !isHistory { tell(event, room) }
        if event.isState, !section.hasStateAfter { applyState([event], &room) }
        endHistory(with: event, lastJoining)
        confirmEcho(event, &room)
    }

    /// Ends the history at our last joining.
    private mutating func endHistory(with event: MXEvent, _ lastJoining: String?) {
        if isHistory, !isInitial, event.eventId == lastJoining { isHistory = false }
    }

    /// Returns whether the event is our joining. Messages before it do not count as unread.
    private func beginsOurTime(_ event: MXEvent) -> Bool {
        (isNew || tellsKnown) && joins(event)
    }

    /// Whether we join the room in this section.
    var hasJoining: Bool { section.timeline.events.contains(where: joins) }

    private func joins(_ event: MXEvent) -> Bool { event.isJoining(of: userId) }

    private mutating func tell(_ event: MXEvent, _ room: RoomModel) {
        guard !ignoredUsers.contains(ByteKey(event.sender)) || event.isState else { return }
        let count = room.summary.hasServerCounts ? room.summary.joinedMembersCount : nil
        let push = room.state.map {
            pushRules.decision(for: event, in: $0, currentUser: userId, joinedCount: count)
        }
        notices.append(
            .live(
                LiveEvent(
                    event: event, roomId: room.summary.roomId, state: wantsState ? room.state : nil,
                    push: push ?? .init())))
    }

    private mutating func count(_ event: MXEvent, _ room: inout RoomModel) {
        if event.sender.isExactly(userId) && event.saysSomething || beginsOurTime(event) {
            room.summary.localUnreadEventCount = 0  // users who write have read everything
        } else if event.countsAsUnread(for: userId), !ignoredUsers.contains(ByteKey(event.sender)) {
            room.summary.localUnreadEventCount += 1
        }
        if event.isLastMessage(for: userId) {
            (room.summary.lastMessageId, room.summary.lastMessageTs) = (event.eventId, event.originServerTs)
        }
    }

    /// Replaces a local echo with the event that the sync returned.
    private mutating func confirmEcho(_ event: MXEvent, _ room: inout RoomModel) {
        guard event.sender.isExactly(userId), let index = room.outgoing.firstIndex(where: { $0.stands(for: event) })
        else {
            return
        }
        let echo = room.outgoing.remove(at: index)
        room.relations.remove(echo.localEventId)
        sentOutgoing.append(echo.transactionId)
        guard echo.eventId == nil else { return }  // reported when the server answered
        notices.append(
            .echoConfirmed(
                roomId: room.summary.roomId, localEventId: echo.localEventId, eventId: event.eventId))
    }

    // MARK: Redactions

    private mutating func applyRedaction(
        _ redaction: MXEvent, _ room: inout RoomModel, _ store: any MXStore
    ) throws(MatrixError) {
        guard let targetId = redaction.redacts(in: room.version) else { return }
        let target = try find(targetId, room, store)
        if target == nil { room.note(redaction, of: targetId) }
        if let target, !target.isRedacted {
            if let poll = target.pollStartId { changedPolls.insert(poll) }
            let pruned = target.pruned(by: redaction, roomVersion: room.state?.roomVersion)
            if let index = changes.timeline.firstIndex(where: { $0.eventId.isExactly(targetId) }) {
                changes.timeline[index] = pruned
            } else {
                changes.replaced.append(pruned)
            }
            if room.state?.replace(pruned) == true { changes.state.append(pruned) }
            if !isHistory { notices.append(.changed(pruned)) }
        }
        // This includes a message from before a gap, which is no longer stored.
        if room.summary.lastMessageId == targetId { try findLastMessage(&room, store, without: targetId) }
    }

    private func find(
        _ eventId: String, _ room: RoomModel, _ store: any MXStore
    ) throws(MatrixError) -> MXEvent? {
        if let event = changes.timeline.last(where: { $0.eventId.isExactly(eventId) }) { return event }
        if !isNew, !changes.dropsTimeline, let event = try store.event(eventId, in: room.summary.roomId) {
            return event
        }
        return room.state?.stateEvents.first { $0.eventId.isExactly(eventId) }  // older than everything stored
    }

    private func findLastMessage(
        _ room: inout RoomModel, _ store: any MXStore, without eventId: String
    ) throws(MatrixError) {
        // The store has not applied this answer's redactions yet.
        let redacted = Set(changes.replaced.map(\.eventId)).union([eventId])
        func isLast(_ event: MXEvent) -> Bool {
            event.isLastMessage(for: userId) && !redacted.contains(event.eventId)
        }
        var last = changes.timeline.last(where: isLast).map { ($0.eventId, $0.originServerTs) }
        if last == nil, isNew || changes.dropsTimeline {
            last = lastMessageBefore.flatMap { $0.id == eventId ? nil : ($0.id, $0.ts) }
        } else if last == nil {
            var position: String?
            repeat {
                let page = try store.events(in: room.summary.roomId, before: position, limit: 50)
                last = page.first(where: isLast).map { ($0.eventId, $0.originServerTs) }
                position = page.last?.eventId
            } while last == nil && position != nil
        }
        room.summary.setLastMessage(last)
    }

    // MARK: Typing and receipts

    private mutating func applyEphemeral(_ room: inout RoomModel, _ store: any MXStore) throws(MatrixError) {
        for event in section.ephemeral {
            switch event.type {
            case "m.typing":
                let users = event.contentJSON["user_ids"]?.array?.compactMap(\.string) ?? []
                room.typingUsers = users.filter { $0 != userId && !ignoredUsers.contains(ByteKey($0)) }
            case "m.receipt":
                let receipts = Self.receipts(of: event)
                changes.receipts += receipts
                if receipts.contains(where: { $0.userId.isExactly(userId) }) { try countUnread(&room, store) }
            default: break
            }
            notices.append(.ephemeral(event))
        }
    }

    /// - Returns: One receipt for each user, type and event.
    private static func receipts(of event: MXEvent) -> [MXReceipt] {
        var receipts: [MXReceipt] = []
        for (eventId, types) in event.contentJSON.members {
            for (type, users) in types.members where type == "m.read" || type == "m.read.private" {
                for (user, receipt) in users.members {
                    receipts.append(
                        MXReceipt(
                            userId: user, eventId: eventId, type: type, threadId: receipt["thread_id"]?.string,
                            ts: receipt["ts"]?.wholePart.flatMap { UInt64(exactly: $0) } ?? 0))
                }
            }
        }
        return receipts
    }

    /// Recounts unread events. A receipt never increases the count: it may be older than an earlier one.
    private func countUnread(_ room: inout RoomModel, _ store: any MXStore) throws(MatrixError) {
        guard room.summary.localUnreadEventCount > 0 else { return }
        let (roomId, horizon) = (room.summary.roomId, OwnReceipts.horizon)
        var receipts = changes.receipts
        if !isNew { receipts += try store.receipts(in: roomId, of: userId) }
        let stored =
            isNew || changes.dropsTimeline ? [] : try store.events(in: roomId, before: nil, limit: horizon)
        let unread = OwnReceipts(of: userId, receipts).unread(
            in: (changes.timeline.reversed() + stored).prefix(horizon), ignoring: ignoredUsers
        ) { $0.sender.isExactly(userId) && $0.saysSomething || beginsOurTime($0) }
        room.summary.localUnreadEventCount = min(room.summary.localUnreadEventCount, unread.total)
    }
}

extension MXEvent {
    /// Returns whether the user joins with this event, rather than only changing their name.
    package func isJoining(of userId: String) -> Bool {
        isState && type == "m.room.member" && stateKey?.isExactly(userId) == true
            && contentJSON["membership"]?.string == "join"
            && prevContent?["membership"]?.string != "join"
    }

    /// Returns whether the user leaves or is removed with this event.
    package func isLeaving(of userId: String) -> Bool {
        isState && type == "m.room.member" && stateKey?.isExactly(userId) == true
            && ["leave", "ban"].contains(contentJSON["membership"]?.string)
    }
}
