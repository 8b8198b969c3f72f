import Basics
package import MatrixProtocol

/// A room as a list of rooms sees it.
package struct ListedRoom: Sendable {
    package let summary: MXRoomSummary
    /// Whether a message of our own in it could not be sent.
    package let hasUnsentMessages: Bool
    /// Whether a space that we are in has it.
    package let isInSpace: Bool
}

/// What lists of rooms are made of.
extension MXSession {
    /// All rooms, invitations included but those of ignored users, in no order.
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
                // One without servers was taken out of the space again.
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

    /// Calls back, on the completion queue, whenever ``listedRooms`` may have changed.
    ///
    /// - Returns: What ``stopObserving(_:)`` takes.
    package func observeRoomList(_ observer: @escaping @Sendable () -> Void) -> UUID {
        observeReports { report in
            if report.changesRoomList { observer() }
        }
    }

    /// Calls back with everything that happens, in order, on the completion queue.
    ///
    /// - Returns: What ``stopObserving(_:)`` takes.
    package func observeReports(_ observer: @escaping @Sendable (SessionReport) -> Void) -> UUID {
        core.observeReports(observer)
    }

    package func stopObserving(_ id: UUID) { core.removeObserver(id) }

    /// The newest stored events of a room's timeline, newest first.
    ///
    /// - Parameter eventId: Only those before this one; nil begins with the newest.
    package func storedEvents(
        in roomId: String, before eventId: String? = nil, limit: Int
    ) throws(MatrixError) -> [MXEvent] {
        try core.account.store { store throws(MatrixError) in
            try store.events(in: roomId, before: eventId, limit: limit)
        }
    }

    /// What the user's push rules say of an event.
    package func pushDecision(for event: MXEvent, in roomId: String) -> PushRules.Decision {
        guard let state = core.account.roomState(roomId) else { return .init() }
        return core.account.model { model in
            let count = model.rooms[roomId].flatMap { $0.summary.hasServerCounts ? $0.summary.joinedMembersCount : nil }
            return model.pushRules.decision(for: event, in: state, currentUser: model.userId, joinedCount: count)
        } ?? .init()
    }

    /// A delegate that somebody else holds for this session is gone.
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
