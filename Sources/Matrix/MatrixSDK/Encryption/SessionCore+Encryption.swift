import Basics
import JSONBytes
import Logging
import MatrixEncryption
import MatrixProtocol
import PeerLog
import Realtime

/// Encryption of a session: turns of its machine, and messages to encrypted rooms.
extension SessionCore {
    /// Performs a step of the machine outside of a sync. Its result is stored and delivered when this returns.
    @discardableResult
    func encryption<Value>(
        _ body: (inout CryptoMachine, inout CryptoTurn, inout SessionModel, inout MXStoreChanges) throws -> Value
    ) throws(MatrixError) -> Value {
        let (value, notices, committed) = try account.encryption(body)
        tell(stored: committed)
        if !notices.isEmpty { tell(notices) }
        return value
    }

    /// Like ``encryption(_:)``, but for steps that may lead to requests.
    @discardableResult
    func cryptoCommand<Value>(
        _ body: (inout CryptoMachine, inout CryptoTurn) throws -> Value
    ) throws(MatrixError) -> Value {
        defer { cryptoDriver?.wake() }
        return try encryption { machine, turn, _, _ in try body(&machine, &turn) }
    }

    /// Records that a room is encrypted, whether or not a sync has said so.
    ///
    /// - Parameter content: The content of its `m.room.encryption`; `nil` for the usual one, unless another is known.
    func noteEncryption(of roomId: String, _ content: JSONView? = nil) throws(MatrixError) {
        account.noteEncryption(of: roomId)
        guard account.encrypts else { return }
        try cryptoCommand { machine, turn in
            if content == nil, try machine.isEncrypted(roomId, &turn) { return }
            try machine.noteEncryption(of: roomId, content ?? Self.usualEncryption, &turn)
        }
    }

    private static var usualEncryption: JSONView {
        var content = JSONWriter()
        content.add("algorithm", Algorithm.megolm)
        return content.view
    }

    /// Requests the devices of invited users again: their invitations may not have been seen.
    func noteInvitations(among members: [MXEvent]) throws(MatrixError) {
        let invited = members.compactMap(\.invitee)
        guard !invited.isEmpty, account.encrypts else { return }
        try cryptoCommand { machine, turn in try machine.noteChanged(invited, &turn) }
    }

    /// Asks which key backup there is: another device may have created a new one.
    func checkBackup() throws(MatrixError) {
        guard account.encrypts else { return }
        try cryptoCommand { machine, _ in machine.checkBackup() }
    }

    func report(encryptionFailure error: MatrixError) {
        options.logger?.report(.warning, "the keys could not be stored: \(error)")
    }

    // MARK: Reading

    /// Returns a room's events, as sent by the homeserver, with their decrypted content.
    func decrypted(_ events: [MXEvent], in roomId: String) throws(MatrixError) -> [MXEvent] {
        guard account.encrypts, events.contains(where: \.isEncrypted) else { return events }
        return try decrypted(events.map { $0.inRoom(roomId) })
    }

    /// Returns events of any rooms with their decrypted content.
    func decrypted(_ events: [MXEvent]) throws(MatrixError) -> [MXEvent] {
        try encryption { machine, turn, _, _ in
            var read: [MXEvent] = []
            for event in events { read.append(try machine.read(event, &turn)) }
            return read
        }
    }

    /// Returns stored events that are being looked at. Tries again to decrypt unreadable ones: not all events that wait
    /// for a key are remembered.
    func lookedAt(_ events: [MXEvent], in roomId: String) throws(MatrixError) -> [MXEvent] {
        let waiting = events.filter { $0.isEncrypted && !$0.isRedacted && $0.decryptionError?.maySucceedLater == true }
        guard !waiting.isEmpty, account.encrypts else { return events }
        try cryptoCommand { _, turn in turn.lookedAt[ByteKey(roomId)] = waiting.map(\.eventId) }
        return try account.store { store throws(MatrixError) in
            var shown: [MXEvent] = []
            for event in events {
                shown.append(event.isEncrypted ? try store.event(event.eventId, in: roomId) ?? event : event)
            }
            return shown
        }
    }

    // MARK: Sending

    /// Returns the message to send now: encrypted, if the room is.
    ///
    /// - Throws: `encryptionNotAvailable` if it must be encrypted but cannot be, or `identityChanged`.
    func readyToSend(_ event: MXOutgoingEvent) async throws -> MXOutgoingEvent {
        guard !Self.staysPlain(event.type), event.encryptedContent == nil, try account.isEncrypted(event.roomId) else {
            return event
        }
        guard let cryptoDriver, account.encrypts else {
            throw MatrixError(
                .encryptionNotAvailable,
                "room \(event.roomId) is encrypted, and this session does not encrypt: the message was not sent",
                roomId: event.roomId)
        }
        return try await sharing(ofRoom: event.roomId, with: cryptoDriver) { machine, hasWaited, model, changes, turn in
            try machine.encrypt(event, hasWaited: hasWaited, account: &model, &changes, &turn)
        }
    }

    /// Sends keys to everyone who may read a room, before there is a message.
    func shareKeys(ofRoom roomId: String) async throws {
        guard try account.isEncrypted(roomId) else { return }
        guard let cryptoDriver else { throw MatrixError.encryptionIsOff }
        _ = try await sharing(ofRoom: roomId, with: cryptoDriver) { machine, hasWaited, model, _, turn -> Bool? in
            try machine.prepare(roomId, hasWaited: hasWaited, account: model, &turn) ? true : nil
        }
    }

    private typealias SharingStep<Value> = (
        _ machine: inout CryptoMachine, _ hasWaited: Bool, _ account: inout SessionModel,
        _ changes: inout MXStoreChanges, _ turn: inout CryptoTurn
    ) throws -> Value?

    /// Returns an event of a verification, ready to send: unverified devices must be able to read it as well.
    func encryptedForVerification(
        _ type: String, _ content: String, _ roomId: String
    ) async throws -> (type: String, content: String) {
        guard try account.isEncrypted(roomId), cryptoDriver != nil else { return (type, content) }
        guard let content = JSONView(Array(content.utf8)) else {
            throw MatrixError(.invalidArgument, "the content is not JSON", roomId: roomId)
        }
        let encrypted = try await self.encrypted(type, content, roomId, isForVerification: true)
        return (MXEvent.encryptedType, encrypted.compactText)
    }

    /// Returns encrypted content for a room, whose keys everyone who may read there has.
    func encrypted(
        _ type: String, _ content: JSONView, _ roomId: String, isForVerification: Bool = false
    ) async throws -> JSONView {
        guard let cryptoDriver else { throw MatrixError.encryptionIsOff }
        return try await sharing(ofRoom: roomId, with: cryptoDriver) { machine, hasWaited, model, _, turn in
            let isReady = try machine.prepare(
                roomId, hasWaited: hasWaited, isForVerification: isForVerification, account: model, &turn)
            return isReady ? try machine.encrypt(type, content, for: roomId, &turn) : nil
        }
    }

    /// Retries a step until everyone has the keys for it. Waits for users who publish no keys, then leaves them out;
    /// fails if the homeserver does not accept keys.
    private func sharing<Value>(
        ofRoom roomId: String, with driver: CryptoDriver, _ step: SharingStep<Value>
    ) async throws -> Value {
        let deadline = ContinuousClock.now + options.keyPatience
        let end = deadline + options.keySharingPatience
        var isFirst = true
        while true {
            let answers = driver.answers
            try await loadMembers(roomId)
            _ = try account.read(roomId) { _, state in state?.isEncrypted }  // into the model, where the step finds it
            let hasWaited = ContinuousClock.now >= deadline
            let value = try encryption { machine, turn, model, changes in
                if isFirst { machine.retrySharing() }
                return try step(&machine, hasWaited, &model, &changes, &turn)
            }
            isFirst = false
            driver.wake()
            if let value { return value }
            try Task.checkCancellation()
            guard ContinuousClock.now < end else { throw MatrixError.keysNotTaken(roomId: roomId) }
            await driver.waitForAnswers(after: answers, until: hasWaited ? end : deadline)
        }
    }

    /// Waits until the homeserver has reported the users' devices.
    func downloadKeys(of userIds: [String], isForced: Bool) async throws {
        try cryptoCommand { machine, turn in
            if isForced {
                try machine.refresh(userIds, areMembers: false, &turn)
            } else {
                try machine.track(userIds, areMembers: false, &turn)
            }
        }
        let late = MatrixError(.timedOut, "the homeserver did not tell the devices of these users in time")
        try await waitForAnswers(orThrow: late) { machine, turn in try machine.areKnown(userIds, &turn) ? () : nil }
    }

    /// Checks the machine after each answer of the homeserver until `look` finds something, for at most `keyPatience`.
    func waitForAnswers<Value>(
        orThrow error: MatrixError, _ look: (inout CryptoMachine, inout CryptoTurn) throws -> Value?
    ) async throws -> Value {
        guard let cryptoDriver else { throw MatrixError.encryptionIsOff }
        let deadline = ContinuousClock.now + options.keyPatience
        while true {
            let answers = cryptoDriver.answers
            if let value = try encryption({ machine, turn, _, _ in try look(&machine, &turn) }) { return value }
            guard ContinuousClock.now < deadline else { throw error }
            try Task.checkCancellation()
            await cryptoDriver.waitForAnswers(after: answers, until: deadline)
        }
    }

    /// Returns the results of `pick` for the machine's notices from now on, until the session is closed.
    func cryptoNotices<Element: Sendable>(
        _ pick: @escaping @Sendable (CryptoNotice) -> Element?
    ) -> AsyncStream<Element> {
        AsyncStream { continuation in
            let id = observeReports { [weak self] report in
                switch report {
                case .notices(let notices):
                    for case .encryption(let notice) in notices { pick(notice).map { _ = continuation.yield($0) } }
                case .stateChanged:
                    if self?.currentState == .closed { continuation.finish() }
                case .sendingChanged, .failed: break
                }
            }
            continuation.onTermination = { [weak self] _ in self?.removeObserver(id) }
            if currentState == .closed { continuation.finish() }
        }
    }

    /// Returns whether an event is not encrypted even in encrypted rooms (rule R15).
    private static func staysPlain(_ type: String) -> Bool { type == "m.reaction" || type == "m.room.redaction" }
}

extension CryptoMachine {
    /// - Returns: Whether everyone who should read the next message can.
    fileprivate mutating func prepare(
        _ roomId: String, hasWaited: Bool, isForVerification: Bool = false, account model: SessionModel,
        _ turn: inout CryptoTurn
    ) throws -> Bool {
        guard let state = model.rooms[roomId]?.state else {
            throw MatrixError(.roomNotFound, "there is no room \(roomId)", roomId: roomId)
        }
        // A sync may have left members out since they were requested.
        guard model.rooms[roomId]?.summary.membersAreComplete == true else { return false }
        if try !isEncrypted(roomId, &turn), let encryption = state.event(type: "m.room.encryption") {
            try noteEncryption(of: roomId, encryption.contentJSON, &turn)
        }
        let room = RoomToEncrypt(state, isForVerification: isForVerification)
        return try prepare(room, hasWaited: hasWaited, &turn) == .ready
    }

    /// - Returns: The message in the form in which it is sent, stored with the step; `nil` if keys must be sent first.
    fileprivate mutating func encrypt(
        _ event: MXOutgoingEvent, hasWaited: Bool, account model: inout SessionModel, _ changes: inout MXStoreChanges,
        _ turn: inout CryptoTurn
    ) throws -> MXOutgoingEvent? {
        guard try prepare(event.roomId, hasWaited: hasWaited, account: model, &turn) else { return nil }
        guard let content = JSONView(Array(event.content.utf8)) else {
            throw MatrixError(.invalidArgument, "the content is not JSON", roomId: event.roomId)
        }
        var event = event
        event.encryptedContent = try encrypt(event.type, content, for: event.roomId, &turn).compactText
        guard let updated = model.update(outgoing: event) else {
            throw MatrixError(
                .eventNotFound, "the message was given up, or has arrived: it is not sent", roomId: event.roomId)
        }
        changes.outgoing = [updated]
        return updated
    }
}

extension RoomToEncrypt {
    /// - Parameter state: The room's state with all members.
    init(_ state: MXRoomState, isForVerification: Bool) {
        let visibility = state.historyVisibility
        // Invited users may read from the invitation on, unless the room says otherwise.
        let invited = visibility == .joined ? [] : state.members.members(with: .invite)
        self.init(
            roomId: state.roomId, members: (state.members.members(with: .join) + invited).map(\.userId).sorted(),
            invited: invited.map(\.userId).sorted(),
            isSharedHistory: visibility == .shared || visibility == .worldReadable,
            isForVerification: isForVerification)
    }
}

extension MatrixError {
    fileprivate static func keysNotTaken(roomId: String) -> MatrixError {
        MatrixError(
            .timedOut,
            """
            the homeserver has not passed on the keys of the message in time: the message was not sent. It stays among those \
            that have failed; send it again a little later, which gives keys only to those who have none yet
            """, roomId: roomId)
    }
}
