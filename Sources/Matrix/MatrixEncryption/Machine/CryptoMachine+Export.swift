/// Export of room keys to files and backups, and their import.
extension CryptoMachine {
    private static let rooms = "rooms with sessions"

    /// Records that a room has sessions.
    func noteSessions(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard try turn.records.value(SettingRecord.self, scope: Self.rooms, key: roomId) == nil else { return }
        turn.records.set(SettingRecord("yes"), scope: Self.rooms, key: roomId)
    }

    func forgetSessions(of roomId: String, _ turn: inout CryptoTurn) {
        turn.records.remove(.setting, scope: Self.rooms, key: roomId)
    }

    func roomsWithSessions(_ turn: inout CryptoTurn) throws(EncryptionError) -> [String] {
        try turn.records.values(SettingRecord.self, scope: Self.rooms).map(\.key)
    }

    /// Returns a room's sessions, except those proved wrong.
    func usableSessions(
        of roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [InboundSessionRecord] {
        let wrong = try wrongSessions(&turn)
        return try turn.records.values(InboundSessionRecord.self, scope: roomId).map(\.value).filter { record in
            SessionAddress(roomId, record.session.id).map { !wrong.contains($0) } ?? true
        }
    }

    /// Returns all sessions, each from the first message that it decrypts.
    package func exportSessions(_ turn: inout CryptoTurn) throws(EncryptionError) -> [ExportedSession] {
        var sessions: [ExportedSession] = []
        for roomId in try roomsWithSessions(&turn) {
            for record in try usableSessions(of: roomId, &turn) {
                sessions.append(try ExportedSession(record, in: roomId))
            }
        }
        return sessions
    }

    /// Imports sessions from a file or a backup. What they contain about their owners is only a claim.
    ///
    /// - Returns: The number of sessions that are new, or better than the known ones.
    package mutating func importSessions(
        _ sessions: [ExportedSession], from source: InboundSessionRecord.Source = .imported, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Int {
        var count = 0
        for session in sessions {
            do throws(EncryptionError) {
                if try add(record(session, from: source, &turn), to: session.roomID, &turn) { count += 1 }
            } catch .store {
                throw .store
            } catch {
                continue  // skip one with the id of another
            }
        }
        return count
    }

    /// Returns a session's record with the claimed owner.
    func record(
        _ session: ExportedSession, from source: InboundSessionRecord.Source, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> InboundSessionRecord {
        let owner = try turn.records.value(DeviceByKeyRecord.self, key: session.senderKey.base64)?.address
        return InboundSessionRecord(
            session: try InboundGroupSession(exported: session.sessionKey), user: owner?.user ?? "",
            device: owner?.device ?? "", curve25519: session.senderKey,
            ed25519: session.senderClaimedKey ?? Ed25519PublicKey(wellFormed: [UInt8](repeating: 0, count: 32)),
            source: source, isSharedHistory: session.isSharedHistory, forwarders: session.forwardingChain)
    }
}

extension ExportedSession {
    package init(_ record: InboundSessionRecord, in roomId: String) throws(EncryptionError) {
        try self.init(
            roomID: roomId, senderKey: record.curve25519, senderClaimedKey: record.ed25519,
            forwardingChain: record.forwarders, sessionKey: record.session.exported(),
            isSharedHistory: record.isSharedHistory)
    }
}
