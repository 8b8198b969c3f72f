import JSONBytes

/// One joined room's section of a sync answer on its way into the room's model.
struct JoinedPass {
    let section: SyncResponse.Room
    let userId: String
    /// The room was not known as joined before.
    let isNew: Bool
    let isInitial: Bool
    /// What was said before we joined, or before a first sync, is not told.
    private var isHistory: Bool
    let wantsState: Bool
    let pushRules: PushRules
    let ignoredUsers: Set<String>

    var changes = MXStoreChanges.Room()
    private(set) var notices: [SessionNotice] = []
    /// Transaction ids of our own messages that came back.
    private(set) var sentOutgoing: [String] = []
    private(set) var newMembers: [MXEvent] = []

    init(
        section: SyncResponse.Room, userId: String, isNew: Bool, isInitial: Bool, wantsState: Bool,
        pushRules: PushRules, ignoredUsers: Set<String>
    ) {
        (self.section, self.userId, self.isNew, self.isInitial) = (section, userId, isNew, isInitial)
        isHistory = isNew || isInitial
        (self.wantsState, self.pushRules, self.ignoredUsers) = (wantsState, pushRules, ignoredUsers)
    }

    mutating func run(_ room: inout RoomModel, store: any MXStore) throws(MatrixError) {
        changes.replacesState = isNew
        changes.timelineToken = section.timeline.prevBatch
        if isNew { changes.strippedState = [] }
        takeCounts(&room)
        startTimeline(&room)
        if !section.hasStateAfter { applyState(section.state, &room) }
        try applyTimeline(&room, store)
        if section.hasStateAfter { applyState(section.state, &room) }
        try applyEphemeral(&room, store)
        for event in section.accountData {
            room.set(accountData: event)
            changes.accountData.append(event)
            notices.append(.roomAccountData(event))
        }
        if let unread = section.unread {  // absent is unchanged
            room.summary.notificationCount = unread.notificationCount ?? room.summary.notificationCount
            room.summary.highlightCount = unread.highlightCount ?? room.summary.highlightCount
        }
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

    /// After a gap the stored timeline begins anew; what is older is had from the server.
    private mutating func startTimeline(_ room: inout RoomModel) {
        guard isNew || section.timeline.isLimited else { return }
        changes.dropsTimeline = !isNew
        room.summary.paginationToken = section.timeline.prevBatch
        if !isNew { (room.summary.lastMessageId, room.summary.lastMessageTs) = (nil, 0) }
        // What the server has stands in the gap, or comes now.
        sentOutgoing += room.outgoing.filter { $0.state == .sent }.map(\.transactionId)
        room.outgoing.removeAll { $0.state == .sent }
    }

    private mutating func applyState(_ events: [MXEvent], _ room: inout RoomModel) {
        for event in events where event.isState {
            // Most of a first answer is state: it may live on as one. Of others little does.
            let event = isInitial ? event : event.compact
            room.state?.apply(event)
            changes.state.append(event)
            if event.type == "m.room.member" { newMembers.append(event) }
        }
    }

    // MARK: Timeline

    private mutating func applyTimeline(_ room: inout RoomModel, _ store: any MXStore) throws(MatrixError) {
        var known: Set<String> = []
        if !isNew, !changes.dropsTimeline, !section.timeline.events.isEmpty {
            known = try store.knownEvents(among: section.timeline.events.map(\.eventId), in: room.summary.roomId)
        }
        for event in section.timeline.events {
            let id = event.eventId
            guard !id.isEmpty else { continue }  // it has no place
            guard known.insert(id).inserted else {  // it came before
                confirmEcho(event, &room)
                continue
            }
            let isRedaction = event.type == "m.room.redaction"
            if isRedaction { try applyRedaction(event, &room, store) }
            if !isHistory { tell(event, room) }
            if event.isState, !section.hasStateAfter { applyState([event], &room) }
            if isHistory, !isInitial, isOwnJoining(event) { isHistory = false }
            changes.timeline.append(event)
            if let target = room.relations.add(event, in: isRedaction ? room.version : nil), !isHistory {
                notices.append(.relationsChanged(roomId: room.summary.roomId, eventId: target))
            }
            confirmEcho(event, &room)
            count(event, &room)
        }
    }

    /// What was said before we came is not unread.
    private func beginsOurTime(_ event: MXEvent) -> Bool {
        isNew && isOwnJoining(event) && event.prevContent?["membership"]?.string != "join"
    }

    private func isOwnJoining(_ event: MXEvent) -> Bool {
        event.isState && event.type == "m.room.member" && event.stateKey == userId
            && event.contentJSON["membership"]?.string == "join"
    }

    private mutating func tell(_ event: MXEvent, _ room: RoomModel) {
        guard !ignoredUsers.contains(event.sender) || event.isState else { return }
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
        if event.sender == userId && event.saysSomething || beginsOurTime(event) {
            room.summary.localUnreadEventCount = 0  // who writes has read
        } else if event.countsAsUnread(for: userId), !ignoredUsers.contains(event.sender) {
            room.summary.localUnreadEventCount += 1
        }
        if event.isLastMessage(for: userId) {
            (room.summary.lastMessageId, room.summary.lastMessageTs) = (event.eventId, event.originServerTs)
        }
    }

    /// Our own message comes back: it takes the place of what stood for it.
    private mutating func confirmEcho(_ event: MXEvent, _ room: inout RoomModel) {
        guard event.sender == userId, let index = room.outgoing.firstIndex(where: { $0.stands(for: event) }) else {
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
        guard let targetId = redaction.redacts(in: room.version), let target = try find(targetId, room, store),
            !target.isRedacted
        else { return }
        let pruned = target.pruned(by: redaction, roomVersion: room.state?.roomVersion)
        if let index = changes.timeline.firstIndex(where: { $0.eventId == targetId }) {
            changes.timeline[index] = pruned
        } else {
            changes.replaced.append(pruned)
        }
        if room.state?.replace(pruned) == true { changes.state.append(pruned) }
        if room.summary.lastMessageId == targetId { try findLastMessage(&room, store, without: targetId) }
        if !isHistory { notices.append(.changed(pruned)) }
    }

    private func find(
        _ eventId: String, _ room: RoomModel, _ store: any MXStore
    ) throws(MatrixError) -> MXEvent? {
        if let event = changes.timeline.last(where: { $0.eventId == eventId }) { return event }
        if !isNew, !changes.dropsTimeline, let event = try store.event(eventId, in: room.summary.roomId) {
            return event
        }
        return room.state?.stateEvents.first { $0.eventId == eventId }  // older than all that is stored
    }

    private func findLastMessage(
        _ room: inout RoomModel, _ store: any MXStore, without eventId: String
    ) throws(MatrixError) {
        let recent =
            isNew || changes.dropsTimeline ? [] : try store.events(in: room.summary.roomId, before: nil, limit: 50)
        let candidates = changes.timeline.reversed() + recent
        let last = candidates.first { $0.eventId != eventId && $0.isLastMessage(for: userId) }
        (room.summary.lastMessageId, room.summary.lastMessageTs) = (last?.eventId, last?.originServerTs ?? 0)
    }

    // MARK: Typing and receipts

    private mutating func applyEphemeral(_ room: inout RoomModel, _ store: any MXStore) throws(MatrixError) {
        for event in section.ephemeral {
            switch event.type {
            case "m.typing":
                let users = event.contentJSON["user_ids"]?.array?.compactMap(\.string) ?? []
                room.typingUsers = users.filter { $0 != userId && !ignoredUsers.contains($0) }
            case "m.receipt":
                let receipts = Self.receipts(of: event)
                changes.receipts += receipts
                let own = receipts.filter { $0.userId == userId && ($0.threadId == nil || $0.threadId == "main") }
                if !own.isEmpty { try countUnread(after: Set(own.map(\.eventId)), &room, store) }
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
                            ts: receipt["ts"]?.int.flatMap { UInt64(exactly: $0) } ?? 0))
                }
            }
        }
        return receipts
    }

    /// How many are looked through for what was read: older ones count as read.
    private static let unreadHorizon = 200

    /// - Parameter read: Events that own receipts name; the newest of them counts. A receipt never makes anything unread: it
    ///   may be older than another that came before.
    private func countUnread(
        after read: Set<String>, _ room: inout RoomModel, _ store: any MXStore
    ) throws(MatrixError) {
        var count = 0
        let recent =
            isNew || changes.dropsTimeline
            ? [] : try store.events(in: room.summary.roomId, before: nil, limit: Self.unreadHorizon)
        for event in (changes.timeline.reversed() + recent).prefix(Self.unreadHorizon) {
            if read.contains(event.eventId) || event.sender == userId && event.saysSomething || beginsOurTime(event) {
                break
            }
            if event.countsAsUnread(for: userId), !ignoredUsers.contains(event.sender) { count += 1 }
        }
        room.summary.localUnreadEventCount = min(room.summary.localUnreadEventCount, count)
    }
}
