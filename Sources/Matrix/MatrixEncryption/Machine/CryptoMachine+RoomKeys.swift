import Basics
import JSONBytes

/// Sessions that decrypt room messages, and the choice between several with the same id
/// (Documentation/Rules/encryption.md, "Room keys").
extension CryptoMachine {
    mutating func receive(
        roomKey content: JSONView, from sender: Sender, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard content["algorithm"]?.string == Algorithm.megolm, let roomId = content["room_id"]?.string,
            let sessionId = content["session_id"]?.string, let key = content["session_key"]?.string
        else { throw .missingField }
        let session = try InboundGroupSession(sessionKey: UnpaddedBase64.decodeSecret(key))
        guard session.id == sessionId else { throw .sessionKey }
        let record = InboundSessionRecord(
            session: session, user: sender.user, device: sender.device.keys.deviceID, curve25519: sender.curve25519,
            ed25519: sender.ed25519, source: .direct, isSharedHistory: content["shared_history"]?.bool ?? false)
        try take(record, in: roomId, &turn)
    }

    /// Adds a session, or improves the known one with it.
    ///
    /// - Parameter isBackedUp: Whether the session comes from the backup.
    /// - Returns: Whether messages have become readable.
    @discardableResult
    mutating func add(
        _ new: InboundSessionRecord, to roomId: String, isBackedUp: Bool = false, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let sessionId = new.session.id
        var merged = new
        if let known: InboundSessionRecord = try turn.records.value(scope: roomId, key: sessionId) {
            let isEarlier = new.session.firstIndex < known.session.firstIndex
            if known.session.isConnected(to: new.session) {
                // Facts about the owner replace claims, never the reverse.
                let isRaised = new.source == .direct && known.source != .direct
                let isSameOwner = new.curve25519 == known.curve25519 && new.ed25519 == known.ed25519
                if known.source == .direct, new.source == .direct, !isSameOwner { throw .deviceKeys }
                guard isEarlier || isRaised else { return false }
                merged = isRaised ? new : known
                merged.session = isEarlier ? new.session : known.session
                merged.isSharedHistory = known.isSharedHistory && new.isSharedHistory
            } else if try !givesWay(known, in: roomId, to: new.source, &turn) {
                return try addRival(new, of: known, in: roomId, &turn)
            }
        }
        turn.records.set(merged, scope: roomId, key: sessionId)
        try noteSessions(of: roomId, &turn)
        if !isBackedUp { try markForBackup(merged, in: roomId, &turn) }
        if let session = SessionAddress(roomId, sessionId) {
            turn.records.remove(.setting, scope: Self.wrongSessions, key: session.key)
            try closeMissing(session, &turn)
        }
        if merged.source == .direct { turn.records.remove(.inboundSession, scope: Self.rivals(roomId), key: sessionId) }
        turn.records.remove(.withheld, scope: roomId, key: sessionId)
        turn.notices.append(.roomKey(roomId: roomId, sessionId: sessionId))
        return true
    }

    // MARK: Sessions with the same id

    /// The scope of alternatives to the session in use with the same id.
    private static func rivals(_ roomId: String) -> String { "rivals in " + roomId }

    /// Keeps an alternative. Only the owner's messages tell which of two different sessions with the same id is right.
    /// For a session that begins late nothing does, so another one that begins earlier is kept beside it.
    ///
    /// - Throws: `sessionKey` if it is not kept.
    private func addRival(
        _ new: InboundSessionRecord, of known: InboundSessionRecord, in roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let id = new.session.id
        guard known.source != .direct, new.session.firstIndex < known.session.firstIndex,
            try !hasOpened(id, in: roomId, &turn)
        else { throw .sessionKey }
        if let old: InboundSessionRecord = try turn.records.value(scope: Self.rivals(roomId), key: id) {
            let (rank, oldRank) = (new.source.rank, old.source.rank)
            guard rank > oldRank || rank == oldRank && new.session.firstIndex < old.session.firstIndex else {
                throw .sessionKey
            }
        }
        turn.records.set(new, scope: Self.rivals(roomId), key: id)
        turn.notices.append(.roomKey(roomId: roomId, sessionId: id))
        return true
    }

    /// Decrypts a message with the session of its room, or with the alternative of the same id, which then replaces it.
    ///
    /// - Throws: The errors of `InboundGroupSession.decrypt(_:)`.
    mutating func open(
        _ message: MegolmMessage, with session: inout InboundSessionRecord, in roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> SecretBytes {
        let id = session.session.id
        do throws(EncryptionError) {
            if let read = turn.readSessions[ByteKey(id)] { session.session.resume(from: read) }
            let plaintext = try session.session.decrypt(message)
            turn.readSessions[ByteKey(id)] = session.session
            return plaintext
        } catch {
            guard [.index, .mac, .padding].contains(error), session.source != .direct,
                var rival: InboundSessionRecord = try turn.records.value(scope: Self.rivals(roomId), key: id)
            else { throw error }
            let plaintext: SecretBytes
            let state = rival
            do throws(EncryptionError) {
                plaintext = try rival.session.decrypt(message)
            } catch let failure {
                if failure != .index { turn.records.remove(.inboundSession, scope: Self.rivals(roomId), key: id) }
                throw error
            }
            turn.records.remove(.inboundSession, scope: Self.rivals(roomId), key: id)
            turn.records.set(state, scope: roomId, key: id)
            if let address = SessionAddress(roomId, id) {
                turn.records.remove(.setting, scope: Self.wrongSessions, key: address.key)
                try closeMissing(address, &turn)
            }
            try markForBackup(state, in: roomId, &turn)
            turn.readSessions[ByteKey(id)] = rival.session
            session = rival
            return plaintext
        }
    }

    private static let wrongSessions = "wrong sessions"

    /// Returns the sessions that fail to decrypt messages signed by their owners, and were not replaced since. They are
    /// of no use to others.
    func wrongSessions(_ turn: inout CryptoTurn) throws(EncryptionError) -> Set<SessionAddress> {
        Set(
            try turn.records.values(SettingRecord.self, scope: Self.wrongSessions).compactMap {
                SessionAddress(key: $0.key)
            })
    }

    func isWrong(_ session: SessionAddress, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try turn.records.value(SettingRecord.self, scope: Self.wrongSessions, key: session.key) != nil
    }

    /// Records that the session fails to decrypt a message signed by its owner.
    func noteWrong(
        _ record: InboundSessionRecord, at session: SessionAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let source = SettingRecord("\(record.source.rawValue)")
        turn.records.set(source, scope: Self.wrongSessions, key: session.key)
        try forgetForBackup(session, &turn)
    }

    /// Returns whether another session with the same id replaces the known one: it comes from a better source, or the
    /// known one is wrong. The same source would only repeat itself.
    private func givesWay(
        _ known: InboundSessionRecord, in roomId: String, to source: InboundSessionRecord.Source,
        _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        if source != .direct, try hasOpened(known.session.id, in: roomId, &turn) { return false }
        if source.rank > known.source.rank { return true }
        guard source != known.source, let session = SessionAddress(roomId, known.session.id) else { return false }
        let wrong: SettingRecord? = try turn.records.value(scope: Self.wrongSessions, key: session.key)
        return wrong?.text == "\(known.source.rawValue)"
    }
}
