import Basics
import JSONBytes

/// One joined room's section of a sync answer on its way into the room's model.
struct JoinedPass {
    let section: SyncResponse.Room
    let userId: String
    /// The room was not known as joined before.
    let isNew: Bool
    let isInitial: Bool
    /// ``MXStoreChanges/keepsAnswer``.
    let keepsAnswer: Bool
    /// There is a gap between what is stored and the section's timeline.
    private(set) var isGap = false
    /// Whether what is known already is told nevertheless.
    let tellsKnown: Bool
    /// What was said before we joined, or before a first sync, is not told.
    private var isHistory: Bool
    let wantsState: Bool
    let pushRules: PushRules
    let ignoredUsers: Set<ByteKey>

    var changes = MXStoreChanges.Room()
    private(set) var notices: [SessionNotice] = []
    /// Transaction ids of our own messages that came back.
    private(set) var sentOutgoing: [String] = []
    /// Those on their way that have changed.
    private(set) var outgoing: [MXOutgoingEvent] = []
    private(set) var newMembers: [MXEvent] = []
    /// Polls with votes or ends more or less.
    private var changedPolls: Set<ByteKey> = []
    /// The room's last message so far. Behind a gap it is the last until a newer one is known.
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

    /// - Returns: Those of the section's timeline that the stored one has.
    private func knownEvents(_ room: RoomModel, _ store: any MXStore) throws(MatrixError) -> Set<ByteKey> {
        guard !isNew, !section.timeline.events.isEmpty else { return [] }
        return Set(texts: try store.knownEvents(among: section.timeline.events.map(\.eventId), in: room.summary.roomId))
    }

    /// After a gap the stored timeline begins anew; what is older is had from the server. One that overlaps with what is
    /// stored leaves no gap, whatever the server says: so it is when we have left and joined again meanwhile.
    private mutating func startTimeline(_ room: inout RoomModel, overlaps: Bool) {
        let lastJoining = section.timeline.events.last(where: joins)
        isHistory = isInitial || (isNew || tellsKnown) && lastJoining != nil
        // What is told makes no difference to what is missing.
        isGap = section.timeline.isLimited && !overlaps && !isInitial && !(isNew && lastJoining != nil)
        // Who has left in what was left out need not be told, if members come late: keys must not go to them.
        if section.timeline.isLimited { room.summary.membersAreComplete = false }
        guard isNew || isGap else { return }
        changes.dropsTimeline = !isNew
        room.summary.paginationToken = section.timeline.prevBatch
        // What the server has stands in the gap, or comes now.
        sentOutgoing += room.outgoing.filter { $0.state == .sent }.map(\.transactionId)
        room.outgoing.removeAll { $0.state == .sent }
        // Of the others nobody will say so once the server has them.
        for index in room.outgoing.indices { room.outgoing[index].hasMetGap = true }
        outgoing = room.outgoing
    }

    /// A room whose creation is told is told as a whole: we have left and joined it again meanwhile. Of members that come late
    /// it is not told who has left, too.
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
            // What stands before the stored events is older than they, and no news.
            for event in events[..<first] { takeKnown(event, lastJoining, &room) }
            events = events[first...]
        }
        var known = stored
        for event in events {
            let id = event.eventId
            guard !id.isEmpty else { continue }  // it has no place
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
        // Before an event that is no news the server's history does not go on where it does before the timeline.
        if changes.timeline.first?.eventId == section.timeline.events.first?.eventId {
            changes.timelineToken = section.timeline.prevBatch
        }
        guard !isHistory else { return }
        // Once for all votes: each time they are counted anew.
        for poll in changedPolls.map(\.string).sorted() {
            notices.append(.relationsChanged(roomId: room.summary.roomId, eventId: poll))
        }
    }

    /// It came before. The section's state is older than it all the same.
    private mutating func takeKnown(_ event: MXEvent, _ lastJoining: String?, _ room: inout RoomModel) {
        if tellsKnown, !isHistory { tell(event, room) }
        if event.isState, !section.hasStateAfter { applyState([event], &room) }
        endHistory(with: event, lastJoining)
        confirmEcho(event, &room)
    }

    /// What comes after our last joining is news.
    private mutating func endHistory(with event: MXEvent, _ lastJoining: String?) {
        if isHistory, !isInitial, event.eventId == lastJoining { isHistory = false }
    }

    /// What was said before we came is not unread.
    private func beginsOurTime(_ event: MXEvent) -> Bool {
        (isNew || tellsKnown) && joins(event)
    }

    /// Whether we come into the room with the section.
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
            room.summary.localUnreadEventCount = 0  // who writes has read
        } else if event.countsAsUnread(for: userId), !ignoredUsers.contains(ByteKey(event.sender)) {
            room.summary.localUnreadEventCount += 1
        }
        if event.isLastMessage(for: userId) {
            (room.summary.lastMessageId, room.summary.lastMessageTs) = (event.eventId, event.originServerTs)
        }
    }

    /// Our own message comes back: it takes the place of what stood for it.
    private mutating func confirmEcho(_ event: MXEvent, _ room: inout RoomModel) {
        guard event.sender.isExactly(userId), let index = room.outgoing.firstIndex(where: { $0.stands(for: event) })
        else {
            return
        }
        let echo = room.outgoing.remove(at: index)
        room.relations.remove(echo.localEventId)
        sentOutgoing.append(echo.transactionId)
        guard echo.eventId == nil else { return }  // its id was told when the server answered
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
        // Also one that stood before a gap, and is not stored any more.
        if room.summary.lastMessageId == targetId { try findLastMessage(&room, store, without: targetId) }
    }

    private func find(
        _ eventId: String, _ room: RoomModel, _ store: any MXStore
    ) throws(MatrixError) -> MXEvent? {
        if let event = changes.timeline.last(where: { $0.eventId.isExactly(eventId) }) { return event }
        if !isNew, !changes.dropsTimeline, let event = try store.event(eventId, in: room.summary.roomId) {
            return event
        }
        return room.state?.stateEvents.first { $0.eventId.isExactly(eventId) }  // older than all that is stored
    }

    private func findLastMessage(
        _ room: inout RoomModel, _ store: any MXStore, without eventId: String
    ) throws(MatrixError) {
        // The store does not know yet what this answer has redacted.
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

    /// - Returns: One for each user, type and event.
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

    /// A receipt never makes anything unread: it may be older than another that came before.
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
    /// Whether the user joins by it, and does not only change their name.
    package func isJoining(of userId: String) -> Bool {
        isState && type == "m.room.member" && stateKey?.isExactly(userId) == true
            && contentJSON["membership"]?.string == "join"
            && prevContent?["membership"]?.string != "join"
    }

    /// Whether the user leaves by it, or is removed.
    package func isLeaving(of userId: String) -> Bool {
        isState && type == "m.room.member" && stateKey?.isExactly(userId) == true
            && ["leave", "ban"].contains(contentJSON["membership"]?.string)
    }
}
