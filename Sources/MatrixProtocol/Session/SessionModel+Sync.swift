extension SessionModel {
    /// What an answer led to.
    package struct Applied: Sendable {
        package var changes = MXStoreChanges()
        package var notices: [SessionNotice] = []

        package init(changes: MXStoreChanges = MXStoreChanges()) {
            self.changes = changes
        }
    }

    /// Whose state listeners want to see with each event.
    package typealias WantsState = (_ roomId: String) -> Bool

    /// Brings everything up to date with `response` (client-server specification, "Syncing"; the order is that of the
    /// reference, section 14).
    ///
    /// It may be applied again: what is known already changes nothing. The answer to a first sync tells of no single
    /// events, which are history; nor does that of a room that was joined, up to the joining.
    ///
    /// - Parameters:
    ///   - store: Asked for what the model does not hold.
    ///   - wantsState: Copies of the state cost something.
    package mutating func apply(
        _ response: SyncResponse, store: any MXStore, now: ContinuousClock.Instant,
        wantsState: WantsState = { _ in false }
    ) throws(MatrixError) -> Applied {
        var applied = Applied()
        let isInitial = syncToken == nil
        if isInitial {
            applied.changes.replacesEverything = true
            // A session that was told to begin anew keeps what is on its way.
            for (id, room) in rooms {
                // Between what was known and what comes now there may be anything.
                if room.summary.membership == .join { applied.notices.append(.gap(roomId: id)) }
                rooms[id] = RoomModel(summary: MXRoomSummary(roomId: id), state: nil, room.outgoing)
            }
        }
        let comesOrGoes =
            isInitial || !response.left.isEmpty || !response.invited.isEmpty
            || response.joined.contains { rooms[$0.roomId]?.summary.membership != .join }
        for event in response.toDevice { applied.notices.append(.toDevice(event)) }
        for event in response.accountData { apply(accountData: event, &applied) }
        for section in response.joined {
            try applyJoined(section, isInitial: isInitial, store: store, wantsState: wantsState, &applied)
        }
        for section in response.invited { applyStripped(section, as: .invite, &applied) }
        for section in response.knocked { applyStripped(section, as: .knock, &applied) }
        for section in response.left {
            try applyLeft(section, isInitial: isInitial, store: store, wantsState, &applied)
        }
        for event in response.presence where !event.sender.isEmpty {
            users[event.sender, default: MXUser(userId: event.sender)].update(presence: event, now: now)
            applied.changes.presence.append(event)
            applied.notices.append(.presence(event))
        }
        if isInitial { dropUnmentionedRooms(&applied) }
        if comesOrGoes { hideReplacedRooms(&applied) }
        syncToken = response.nextBatch
        applied.changes.syncToken = response.nextBatch
        return applied
    }

    /// Rooms of before that the answer to a first sync does not have: we are not in them any more.
    private mutating func dropUnmentionedRooms(_ applied: inout Applied) {
        for (id, room) in rooms where room.summary.membership == .unknown {
            rooms[id] = nil
            applied.notices.append(.left(roomId: id, event: nil))
        }
        applied.changes.outgoing = rooms.values.flatMap(\.outgoing)
    }

    /// A room that was replaced is hidden as long as we are in the one that replaces it.
    private mutating func hideReplacedRooms(_ applied: inout Applied) {
        for (id, room) in rooms where room.summary.hiddenFromUser != isReplaced(room.summary) {
            rooms[id]?.summary.hiddenFromUser.toggle()
            touch(id, &applied)
        }
    }

    private func isReplaced(_ summary: MXRoomSummary) -> Bool {
        summary.replacementRoomId.map { rooms[$0]?.summary.membership == .join } ?? false
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

    /// The summary has changed.
    private func touch(_ roomId: String, _ applied: inout Applied) {
        applied.changes.rooms[roomId, default: .init()].summary = rooms[roomId]?.summary
        applied.notices.append(.summaryChanged(roomId: roomId))
    }

    // MARK: Rooms that we are invited to

    private mutating func applyStripped(
        _ section: SyncResponse.StrippedRoom, as membership: MXMembership, _ applied: inout Applied
    ) {
        let roomId = section.roomId
        let old = rooms[roomId]
        var room = RoomModel(
            summary: old?.summary.membership == membership
                ? old?.summary ?? .init(roomId: roomId) : .init(roomId: roomId),
            state: MXRoomState(roomId: roomId, events: section.state))
        room.summary.membership = membership
        room.summary.inviter = room.state?.event(type: "m.room.member", key: userId)?.sender
        room.refreshSummary(currentUser: userId, directRooms: directUsers)
        room.summary.isDirect = room.summary.isDirect || room.state?.isDirect(userId) == true
        rooms[roomId] = room
        var changes = applied.changes.rooms[roomId] ?? .init()
        changes.isRemoved = old.map { $0.summary.membership == .join } ?? false
        changes.strippedState = section.state
        changes.summary = room.summary
        applied.changes.rooms[roomId] = changes
        guard old?.summary.membership != membership else { return }
        switch membership {
        case .invite: applied.notices.append(.invited(roomId: roomId, inviter: room.summary.inviter))
        case .knock: applied.notices.append(.knocked(roomId: roomId))
        case .unknown, .join, .leave, .ban: break
        }
    }

    // MARK: Rooms that we have left

    private mutating func applyLeft(
        _ section: SyncResponse.Room, isInitial: Bool, store: any MXStore, _ wantsState: WantsState,
        _ applied: inout Applied
    ) throws(MatrixError) {
        let roomId = section.roomId
        guard let old = rooms[roomId] else { return }  // told already, or never known
        if old.summary.membership == .join {
            try applyJoined(section, isInitial: isInitial, store: store, wantsState: wantsState, &applied)
        }
        let member =
            section.timeline.events.last { $0.type == "m.room.member" && $0.stateKey == userId }
            ?? section.state.last { $0.type == "m.room.member" && $0.stateKey == userId }
        rooms[roomId] = nil
        var changes = MXStoreChanges.Room()
        changes.isRemoved = true
        applied.changes.rooms[roomId] = changes
        applied.notices.append(.left(roomId: roomId, event: member))
    }

    // MARK: Rooms that we are in

    private mutating func applyJoined(
        _ section: SyncResponse.Room, isInitial: Bool, store: any MXStore, wantsState: WantsState,
        _ applied: inout Applied
    ) throws(MatrixError) {
        let roomId = section.roomId
        let isNew = rooms[roomId]?.summary.membership != .join
        if isNew {
            rooms[roomId] = RoomModel(
                summary: MXRoomSummary(roomId: roomId), state: MXRoomState(roomId: roomId),
                rooms[roomId]?.outgoing ?? [])
        } else {
            _ = try state(of: roomId, in: store)
        }
        // Taken out, so that it is changed in place.
        guard var room = rooms.removeValue(forKey: roomId) else { return }
        defer { rooms[roomId] = room }
        let before = room.summary
        room.summary.membership = .join
        var pass = JoinedPass(
            section: section, userId: userId, isNew: isNew, isInitial: isInitial,
            wantsState: wantsState(roomId), pushRules: pushRules, ignoredUsers: ignoredUsers)
        try pass.run(&room, store: store)
        room.refreshSummary(currentUser: userId, directRooms: directUsers)
        room.summary.hiddenFromUser = isReplaced(room.summary)
        if isNew, !isInitial { applied.notices.append(.joined(roomId: roomId)) }
        if section.timeline.isLimited, !isNew { applied.notices.append(.gap(roomId: roomId)) }
        applied.notices += pass.notices
        if before != room.summary || isNew {
            pass.changes.summary = room.summary
            applied.notices.append(.summaryChanged(roomId: roomId))
        }
        if before.notificationCount != room.summary.notificationCount
            || before.highlightCount != room.summary.highlightCount
            || before.localUnreadEventCount != room.summary.localUnreadEventCount, !isInitial
        {
            applied.notices.append(.unreadChanged(room.summary))
        }
        applied.changes.rooms[roomId] = pass.changes
        applied.changes.sentOutgoing += pass.sentOutgoing
        for event in pass.newMembers { updateUser(event) }
    }

    private mutating func updateUser(_ event: MXEvent) {
        guard let member = MXRoomMember(event), users[member.userId] != nil else { return }
        users[member.userId]?.update(member: member)
    }
}

extension RoomModel {
    init(summary: MXRoomSummary, state: MXRoomState?, _ outgoing: [MXOutgoingEvent]) {
        self.init(summary: summary, state: state)
        self.outgoing = outgoing
    }
}
