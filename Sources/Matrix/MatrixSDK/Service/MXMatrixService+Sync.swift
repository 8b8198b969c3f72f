import MatrixProtocol

extension MXMatrixService {
    /// Starts or resumes syncing. Returns after the first sync.
    ///
    /// - Throws: If that fails. Unless ``connectionState`` is then an error, it is retried until ``stopSync()``.
    public func startSync() async throws {
        let account = try liveAccount()
        account.isSyncing = true
        account.failure = nil
        updateConnectionState()
        defer { updateConnectionState() }
        try await MatrixServiceError.mapped { try await account.session.start() }
    }

    /// Stops syncing. Data received so far stays readable.
    public func stopSync() async throws {
        let account = try knownAccount()
        account.isSyncing = false
        account.session.pause()
        updateConnectionState()
    }

    // MARK: Reports of the session

    func heard(_ report: SessionReport, of account: ServiceAccount) {
        switch report {
        case .stateChanged:
            // An application that has closed the session itself may continue with another service.
            if account.session.state == .closed { account.file.retire() }
            updateConnectionState()
        case .sendingChanged: break  // the relations report it
        case .failed(let error, let delay):
            // Not every failure is a failed sync.
            let isOver = delay == nil && [.syncError, .initialSyncFailed].contains(account.session.state)
            if isOver, account.isSyncing, account.failure == nil {
                account.failure = (MatrixServiceError.of(error) as? MatrixServiceError)?.description
            }
            updateConnectionState()
        case .notices(let notices):
            // A callback may log out.
            for notice in notices where self.account === account { heard(notice, of: account.session) }
        }
    }

    private func heard(_ notice: SessionNotice, of session: MXSession) {
        switch notice {
        case .live(let live): tell(live.event, of: live.roomId, session)
        case .changed(let event):
            guard let roomId = event.roomId else { return }
            tell(event, of: roomId, session)
        case .decrypted(let roomId, let events): for live in events { tell(live.event, of: roomId, session) }
        case .relationsChanged(let roomId, let eventId):
            guard let event = try? session.core.account.event(eventId, in: roomId) else { return }
            tell(event, of: roomId, session)
            if session.core.account.summary(roomId)?.lastMessageId == eventId { tellRoom(roomId, session) }
        case .ephemeral(let event):
            guard event.type == "m.typing", let onTypingIndicator, let roomId = event.roomId else { return }
            onTypingIndicator(roomId, session.room(withRoomId: roomId)?.typingUsers ?? [])
        case .summaryChanged(let roomId), .invited(let roomId, _), .knocked(let roomId): tellRoom(roomId, session)
        case .left(let roomId, let event):
            var room = MatrixRoom(id: roomId, name: roomId, membership: .leave)
            if event?.contentJSON["membership"]?.string == "ban" { room.membership = .ban }
            onRoomUpdated?(room)
        case .roomAccountData, .accountData, .presence, .toDevice, .joined, .gap, .echoConfirmed,
            .unreadChanged, .directRoomsChanged, .ignoredUsersChanged, .encryption:
            break
        }
    }

    private func tellRoom(_ roomId: String, _ session: MXSession) {
        guard let onRoomUpdated, let room = session.room(withRoomId: roomId),
            !room.summary.isIgnoredInvitation
        else {
            return
        }
        onRoomUpdated(MatrixRoom(room))
    }

    private func tell(_ event: MXEvent, of roomId: String, _ session: MXSession) {
        guard let onMessageReceived, let room = session.room(withRoomId: roomId),
            let message = MatrixMessage(event, in: room)
        else { return }
        onMessageReceived(message)
    }
}
