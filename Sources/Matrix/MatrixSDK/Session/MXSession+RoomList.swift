import Basics
package import MatrixProtocol

/// A room as shown in a list of rooms.
package struct ListedRoom: Sendable {
    package let summary: MXRoomSummary
    /// Whether the room has a message of the user that could not be sent.
    package let hasUnsentMessages: Bool
    /// Whether the room is in a space that the user has joined.
    package let isInSpace: Bool
}

extension MXSession {
    /// All rooms including invitations, except those of ignored users, in no particular order.
    package var listedRooms: [ListedRoom] {
        let rooms =
            core.account.model { model in
                model.rooms.values.filter { !$0.summary.isIgnoredInvitation }.map { room in
                    (summary: room.summary, hasUnsent: room.outgoing.contains { $0.state == .failed })
                }
            } ?? []
        let spaces = rooms.lazy.filter { $0.summary.roomType == "m.space" && $0.summary.membership == .join }
        let listed = spaces.reduce(into: Set<String>()) { listed, space in
            for child in core.account.roomState(space.summary.roomId)?.stateEvents(with: .spaceChild) ?? [] {
                // A child without servers has been removed from the space.
                let isChild = child.contentJSON["via"]?.array?.isEmpty == false
                if isChild, let roomId = child.stateKey { listed.insert(roomId) }
            }
        }
        return rooms.map { room in
            ListedRoom(
                summary: room.summary, hasUnsentMessages: room.hasUnsent,
                isInSpace: listed.contains(room.summary.roomId))
        }
    }

    /// Calls back on the completion queue whenever ``listedRooms`` may have changed.
    ///
    /// - Returns: The id for ``stopObserving(_:)``.
    package func observeRoomList(_ observer: @escaping @Sendable () -> Void) -> UUID {
        observeReports { report in
            if report.changesRoomList { observer() }
        }
    }

    /// Calls back with everything that happens, in order, on the completion queue.
    ///
    /// - Returns: The id for ``stopObserving(_:)``.
    package func observeReports(_ observer: @escaping @Sendable (SessionReport) -> Void) -> UUID {
        core.observeReports(observer)
    }

    package func stopObserving(_ id: UUID) { core.removeObserver(id) }

    /// Returns the newest stored events of a room's timeline, newest first.
    ///
    /// - Parameter eventId: Only return events before this one; `nil` starts at the newest.
    package func storedEvents(
        in roomId: String, before eventId: String? = nil, limit: Int
    ) throws(MatrixError) -> [MXEvent] {
        try core.account.store { store throws(MatrixError) in
            try store.events(in: roomId, before: eventId, limit: limit)
        }
    }

    /// Returns the decision of the user's push rules for an event.
    package func pushDecision(for event: MXEvent, in roomId: String) -> PushRules.Decision {
        guard let state = core.account.roomState(roomId) else { return .init() }
        return core.account.model { model in
            let count = model.rooms[roomId].flatMap { $0.summary.hasServerCounts ? $0.summary.joinedMembersCount : nil }
            return model.pushRules.decision(for: event, in: state, currentUser: model.userId, joinedCount: count)
        } ?? .init()
    }

    /// Warns that a delegate held by another object for this session is gone.
    package func warnOfGoneDelegate() { core.warnOfGoneDelegate() }
}

extension SessionReport {
    fileprivate var changesRoomList: Bool {
        switch self {
        case .notices(let notices): notices.contains { $0.changesRoomList }
        case .stateChanged, .sendingChanged: true
        case .failed: false
        }
    }
}

extension SessionNotice {
    fileprivate var changesRoomList: Bool {
        switch self {
        case .joined, .invited, .knocked, .left, .gap, .unreadChanged, .summaryChanged, .directRoomsChanged,
            .roomAccountData, .live:
            true
        case .ephemeral, .accountData, .presence, .toDevice, .changed, .relationsChanged, .echoConfirmed,
            .ignoredUsersChanged, .decrypted, .encryption:
            false
        }
    }
}
