import Basics

extension SessionModel {
    /// The result of applying an answer.
    package struct Applied: Sendable {
        package var changes = MXStoreChanges()
        package var notices: [SessionNotice] = []

        package init(changes: MXStoreChanges = MXStoreChanges()) {
            self.changes = changes
        }
    }

    /// Returns whether a room's listeners need the state with each event.
    package typealias WantsState = (_ roomId: String) -> Bool

    /// Applies an answer of `/sync` (client-server specification, "Syncing").
    ///
    /// An answer can be applied again: known events change nothing. Events in the answer to a first sync are history
    /// and not reported individually; neither are those from before we joined a room.
    ///
    /// - Parameters:
    ///   - store: The store, for data that the model does not hold.
    ///   - tellsKnown: Whether to report everything in the answer, including known events, because it starts at an
    ///     earlier point of the stream.
    ///   - wantsState: Decides for which rooms to copy the state, since copies have a cost.
    package mutating func apply(
        _ response: SyncResponse, store: any MXStore, now: ContinuousClock.Instant, tellsKnown: Bool = false,
        wantsState: WantsState = { _ in false }
    ) throws(MatrixError) -> Applied {
        var applied = Applied()
        let isInitial = syncToken == nil
        if isInitial {
            applied.changes.replacesEverything = true
            applied.changes.keepsAnswer = !store.isPermanent && response.isMostlyRooms
            // A session that starts over keeps its pending messages.
            for (id, room) in rooms {
                // Anything may have happened between the known events and the new ones.
                if room.summary.membership == .join { applied.notices.append(.gap(roomId: id)) }
                rooms[id] = RoomModel(summary: room.summary.begunAnew, state: nil, room.outgoing)
            }
        }
        // Messages sent after the gap would be in the answer to the next request; the others are in the gap.
        roomsWithOutgoing = roomsWithOutgoing.filter { rooms[$0.string]?.outgoing.isEmpty == false }
        let mayBeInGaps = roomsWithOutgoing.map(\.string).flatMap { roomId in
            rooms[roomId]?.outgoing.filter { $0.state == .sent && $0.hasMetGap } ?? []
        }
        let comesOrGoes =
            isInitial || !response.left.isEmpty || !response.invited.isEmpty
            || response.joined.contains { rooms[$0.roomId]?.summary.membership != .join }
        let ignored = ignoredUsers
        for (index, event) in response.toDevice.enumerated() {
            let message = MXToDeviceMessage(id: "\(response.nextBatch) \(index)", event: event.detached)
            applied.changes.toDevice.append(message)
            applied.notices.append(.toDevice(message))
        }
        for event in response.accountData { apply(accountData: event, &applied) }
        for section in response.joined {
            try applyJoined(
                section, of: response, isInitial: isInitial, tellsKnown: tellsKnown, store: store, wantsState, &applied)
        }
        for section in response.invited { applyStripped(section, as: .invite, tellsKnown: tellsKnown, &applied) }
        for section in response.knocked { applyStripped(section, as: .knock, tellsKnown: tellsKnown, &applied) }
        for section in response.left {
            try applyLeft(
                section, of: response, isInitial: isInitial, tellsKnown: tellsKnown, store: store, wantsState, &applied)
        }
        for event in response.presence where !event.sender.isEmpty {
            users[ByteKey(event.sender), default: MXUser(userId: event.sender)].update(presence: event, now: now)
            applied.changes.presence.append(event)
            applied.notices.append(.presence(event))
        }
        for event in mayBeInGaps where outgoing(event.localEventId, in: event.roomId) != nil {
            removeOutgoing(event)
            applied.changes.sentOutgoing.append(event.transactionId)
            applied.notices.append(.summaryChanged(roomId: event.roomId))
        }
        if isInitial { dropUnmentionedRooms(&applied) }
        if comesOrGoes || ignored != ignoredUsers { hideRooms(&applied) }
        syncToken = response.nextBatch
        applied.changes.syncToken = response.nextBatch
        return applied
    }

    /// Removes known rooms that the answer to a first sync does not contain: we are no longer in them.
    private mutating func dropUnmentionedRooms(_ applied: inout Applied) {
        for (id, room) in rooms where room.summary.membership == .unknown {
            rooms[id] = nil
            applied.notices.append(.left(roomId: id, event: nil))
        }
        applied.changes.outgoing = rooms.values.flatMap(\.outgoing)
    }

    private mutating func hideRooms(_ applied: inout Applied) {
        for (id, room) in rooms where room.summary.hiddenFromUser != isHidden(room.summary) {
            rooms[id]?.summary.hiddenFromUser.toggle()
            touch(id, &applied)
            guard room.summary.isIgnoredInvitation else { continue }
            applied.notices.append(.invited(roomId: id, inviter: room.summary.inviter))
        }
    }

    /// Returns whether to hide a room: a replaced room while we are in its replacement, or an invitation from an
    /// ignored user.
    private func isHidden(_ summary: MXRoomSummary) -> Bool {
        if summary.membership == .invite {
            return summary.inviter.map { ignoredUsers.contains(ByteKey($0)) } ?? false
        }
        return summary.replacementRoomId.map { rooms[$0]?.summary.membership == .join } ?? false
    }

    // MARK: Account

    private mutating func apply(accountData event: MXEvent, _ applied: inout Applied) {
        let (direct, ignored) = (directUsers, ignoredUsers)
        set(accountData: event)
        applied.changes.accountData.append(event)
        applied.notices.append(.accountData(event))
        if ignored != ignoredUsers { applied.notices.append(.ignoredUsersChanged) }
        guard direct != directUsers else { return }
        applied.notices.append(.directRoomsChanged)
        for roomId in rooms.keys where direct[roomId] != directUsers[roomId] {
            rooms[roomId]?.summary.directUserId = directUsers[roomId]
            rooms[roomId]?.summary.isDirect = directUsers[roomId] != nil
            touch(roomId, &applied)
        }
    }

    /// Marks a room's summary as changed.
    private func touch(_ roomId: String, _ applied: inout Applied) {
        applied.changes.rooms[roomId, default: .init()].summary = rooms[roomId]?.summary
        applied.notices.append(.summaryChanged(roomId: roomId))
    }

    // MARK: Invited rooms

    private mutating func applyStripped(
        _ section: SyncResponse.StrippedRoom, as membership: MXMembership, tellsKnown: Bool, _ applied: inout Applied
    ) {
        let roomId = section.roomId
        let old = rooms[roomId]
        var room = RoomModel(
            summary: old?.summary.membership == membership
                ? old?.summary ?? .init(roomId: roomId) : .init(roomId: roomId),
            state: MXRoomState(roomId: roomId, events: section.state.map(\.compact)))
        room.summary.membership = membership
        room.summary.inviter = room.state?.event(type: "m.room.member", key: userId)?.sender
        room.refreshSummary(currentUser: userId, directRooms: directUsers)
        room.summary.isDirect = room.summary.isDirect || room.state?.isDirect(userId) == true
        room.summary.hiddenFromUser = isHidden(room.summary)
        rooms[roomId] = room
        var changes = applied.changes.rooms[roomId] ?? .init()
        changes.isRemoved = old.map { $0.summary.membership == .join } ?? false
        changes.strippedState = section.state
        changes.summary = room.summary
        applied.changes.rooms[roomId] = changes
        let wasShown = old?.summary.membership == membership && old?.summary.hiddenFromUser == false
        guard !wasShown || tellsKnown, !room.summary.hiddenFromUser else { return }
        switch membership {
        case .invite: applied.notices.append(.invited(roomId: roomId, inviter: room.summary.inviter))
        case .knock: applied.notices.append(.knocked(roomId: roomId))
        case .unknown, .join, .leave, .ban: break
        }
    }

    // MARK: Left rooms

    private mutating func applyLeft(
        _ section: SyncResponse.Room, of response: SyncResponse, isInitial: Bool, tellsKnown: Bool, store: any MXStore,
        _ wantsState: WantsState, _ applied: inout Applied
    ) throws(MatrixError) {
        let roomId = section.roomId
        let member =
            section.timeline.events.last { $0.type == "m.room.member" && $0.stateKey?.isExactly(userId) == true }
            ?? section.state.last { $0.type == "m.room.member" && $0.stateKey?.isExactly(userId) == true }
        guard let old = rooms[roomId] else {  // already reported, or never known
            guard tellsKnown else { return }
            // Messages from before we left are not repeated, and may not have been reported.
            let events = section.timeline.events.filter { $0.eventId != member?.eventId }
            if section.timeline.isLimited || !events.isEmpty { applied.notices.append(.gap(roomId: roomId)) }
            applied.notices.append(.left(roomId: roomId, event: member))
            return
        }
        if old.summary.membership == .join {
            try applyJoined(
                section, of: response, isInitial: isInitial, tellsKnown: tellsKnown, store: store, wantsState, &applied)
        }
        rooms[roomId] = nil
        var changes = MXStoreChanges.Room()
        changes.isRemoved = true
        applied.changes.rooms[roomId] = changes
        applied.notices.append(.left(roomId: roomId, event: member))
    }

    // MARK: Joined rooms

    private mutating func applyJoined(
        _ section: SyncResponse.Room, of response: SyncResponse, isInitial: Bool, tellsKnown: Bool, store: any MXStore,
        _ wantsState: WantsState, _ applied: inout Applied
    ) throws(MatrixError) {
        let roomId = section.roomId
        let isNew = rooms[roomId]?.summary.membership != .join
        if isNew {
            let summary = (isInitial ? rooms[roomId]?.summary.begunAnew : nil) ?? MXRoomSummary(roomId: roomId)
            rooms[roomId] = RoomModel(
                summary: summary, state: MXRoomState(roomId: roomId), rooms[roomId]?.outgoing ?? [])
        } else {
            _ = try state(of: roomId, in: store)
        }
        // Removed from the dictionary to be changed in place.
        guard var room = rooms.removeValue(forKey: roomId) else { return }
        defer { rooms[roomId] = room }
        let before = room.summary
        room.summary.membership = .join
        var pass = JoinedPass(
            section: section, userId: userId, isNew: isNew, isInitial: isInitial,
            keepsAnswer: applied.changes.keepsAnswer, tellsKnown: tellsKnown,
            wantsState: wantsState(roomId), pushRules: pushRules, ignoredUsers: ignoredUsers)
        try pass.run(&room, store: store)
        if pass.changes.replacesState { room.origin = response.nextBatch }
        room.refreshSummary(currentUser: userId, directRooms: directUsers)
        room.summary.hiddenFromUser = isHidden(room.summary)
        if isNew || tellsKnown && pass.hasJoining, !isInitial { applied.notices.append(.joined(roomId: roomId)) }
        if pass.isGap || tellsKnown && section.timeline.isLimited && !isNew {
            // If we join within the timeline, the events before that are missing too.
            let prevBatch = pass.hasJoining ? nil : section.timeline.prevBatch
            applied.notices.append(.gap(roomId: roomId, prevBatch: prevBatch))
        }
        applied.notices += pass.notices
        if before != room.summary || isNew {
            pass.changes.summary = room.summary
            applied.notices.append(.summaryChanged(roomId: roomId))
        }
        if before.notificationCount != room.summary.notificationCount
            || before.highlightCount != room.summary.highlightCount
            || before.localUnreadEventCount != room.summary.localUnreadEventCount
            || before.unreadThreads != room.summary.unreadThreads, !isInitial
        {
            applied.notices.append(.unreadChanged(room.summary))
        }
        applied.changes.rooms[roomId] = pass.changes
        applied.changes.outgoing += pass.outgoing
        applied.changes.sentOutgoing += pass.sentOutgoing
        for event in pass.newMembers { updateUser(event) }
    }

    private mutating func updateUser(_ event: MXEvent) {
        guard let member = MXRoomMember(event), users[ByteKey(member.userId)] != nil else { return }
        users[ByteKey(member.userId)]?.update(member: member)
    }
}

extension MXRoomSummary {
    /// The summary to keep when a first sync sends everything else. The room keeps its place in a list, and an
    /// encrypted room stays encrypted.
    fileprivate var begunAnew: MXRoomSummary {
        var summary = MXRoomSummary(roomId: roomId)
        summary.isEncrypted = isEncrypted
        (summary.lastMessageId, summary.lastMessageTs) = (lastMessageId, lastMessageTs)
        return summary
    }
}

extension RoomModel {
    init(summary: MXRoomSummary, state: MXRoomState?, _ outgoing: [MXOutgoingEvent]) {
        self.init(summary: summary, state: state)
        self.outgoing = outgoing
    }
}
