import Basics
import JSONBytes

/// The upload of room keys to the backup, and their download (Documentation/Rules/encryption.md, "Key backup").
extension CryptoMachine {
    private static let sessionsOfAnUpload = 100
    /// The number of downloaded entries to import at once: it takes about a second.
    package static let entriesOfATurn = 1_000
    /// The maximum delay of a new key in milliseconds. It keeps devices that got the key together from writing at once.
    private static let maximumDelay: UInt64 = 10_000
    /// The rooms with sessions that the backup may lack: ``someSessions``, or all of them.
    private static let roomsToBackUp = "rooms to back up"
    private static let (someSessions, allSessions) = ("some", "all")

    /// The scope of a room's sessions that are waiting for the backup, each with a mark of its state at the time.
    private static func waitingScope(_ roomId: String) -> String { "backup " + roomId }

    private static func mark(_ record: InboundSessionRecord) -> SettingRecord {
        SettingRecord("\(record.session.firstIndex) \(record.source.rawValue)")
    }

    // MARK: Waiting sessions

    /// Marks a session that is new or better than before.
    mutating func markForBackup(
        _ record: InboundSessionRecord, in roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        turn.records.set(Self.mark(record), scope: Self.waitingScope(roomId), key: record.session.id)
        if try turn.records.value(SettingRecord.self, scope: Self.roomsToBackUp, key: roomId) == nil {
            turn.records.set(SettingRecord(Self.someSessions), scope: Self.roomsToBackUp, key: roomId)
        }
        guard backup.due == nil, try backupVersion(&turn) != nil else { return }
        let random = turn.random.bytes(2).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        backup.due = turn.now + random % Self.maximumDelay
    }

    func forgetForBackup(_ session: SessionAddress, _ turn: inout CryptoTurn) throws(EncryptionError) {
        unmarkForBackup(session.sessionId, in: session.roomId, &turn)
        try forgetRoomForBackup(session.roomId, &turn)
    }

    /// Removes the room's mark, unless some of its sessions are waiting.
    func forgetRoomForBackup(_ roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        if try turn.records.values(SettingRecord.self, scope: Self.waitingScope(roomId)).isEmpty {
            turn.records.remove(.setting, scope: Self.roomsToBackUp, key: roomId)
        }
    }

    func unmarkForBackup(_ sessionId: String, in roomId: String, _ turn: inout CryptoTurn) {
        turn.records.remove(.setting, scope: Self.waitingScope(roomId), key: sessionId)
    }

    /// Marks all sessions after a change of backup: the new one is empty.
    mutating func markAllForBackup(_ turn: inout CryptoTurn) throws(EncryptionError) {
        for roomId in try roomsWithSessions(&turn) {
            turn.records.set(SettingRecord(Self.allSessions), scope: Self.roomsToBackUp, key: roomId)
        }
        backup.due = 0
    }

    /// Returns the number of sessions waiting for the backup. They are counted on each call.
    package func sessionsToBackUp(_ turn: inout CryptoTurn) throws(EncryptionError) -> Int {
        var count = 0
        for (roomId, which) in try turn.records.values(SettingRecord.self, scope: Self.roomsToBackUp) {
            count +=
                which.text == Self.allSessions
                ? try usableSessions(of: roomId, &turn).count
                : try turn.records.values(SettingRecord.self, scope: Self.waitingScope(roomId)).count
        }
        return count
    }

    // MARK: Writing

    /// Uploads the waiting sessions without delay.
    package mutating func backUpNow() {
        backup.due = 0
        pauses[CryptoRequest.Call.uploadRoomKeys(version: "").kind]?.until = 0
    }

    /// Returns the body of the next upload; `nil` if none is due.
    mutating func backupUpload(
        to current: BackupRecord.Current, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> String? {
        guard (backup.due ?? 0) <= turn.now else { return nil }
        let rooms = try turn.records.values(SettingRecord.self, scope: Self.roomsToBackUp)
        if rooms.isEmpty {
            backup.due = nil
            return nil
        }
        guard let authData = current.authData, try isTrusted(current, &turn) else { return nil }
        var count = 0
        var isVerified: [Curve25519PublicKey: Bool] = [:]
        var uploading: [SessionAddress: String] = [:]
        var body = JSONWriter()
        for (roomId, which) in rooms where count < Self.sessionsOfAnUpload {
            if which.text == Self.allSessions { try markAll(of: roomId, &turn) }
            let waiting = try turn.records.values(SettingRecord.self, scope: Self.waitingScope(roomId))
            if waiting.isEmpty { turn.records.remove(.setting, scope: Self.roomsToBackUp, key: roomId) }
            var sessions = JSONWriter()
            let before = count
            for (sessionId, mark) in waiting.prefix(Self.sessionsOfAnUpload - count) {
                guard let address = SessionAddress(roomId, sessionId),
                    let record: InboundSessionRecord = try turn.records.value(scope: roomId, key: sessionId)
                else {
                    unmarkForBackup(sessionId, in: roomId, &turn)
                    continue
                }
                if isVerified[record.curve25519] == nil {
                    isVerified[record.curve25519] = try isFromVerifiedDevice(record, &turn)
                }
                let flag = record.source == .direct && isVerified[record.curve25519] == true
                sessions.add(sessionId, try entry(record, in: roomId, for: authData.publicKey, isVerified: flag, turn))
                uploading[address] = mark.text
                count += 1
            }
            guard count > before else { continue }
            var room = JSONWriter()
            room.add("sessions", sessions)
            body.add(roomId, room)
        }
        guard count > 0 else { return nil }
        backup.uploading = uploading
        var object = JSONWriter()
        object.add("rooms", body)
        return object.text
    }

    private func markAll(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        for record in try usableSessions(of: roomId, &turn) {
            turn.records.set(Self.mark(record), scope: Self.waitingScope(roomId), key: record.session.id)
        }
        turn.records.set(SettingRecord(Self.someSessions), scope: Self.roomsToBackUp, key: roomId)
    }

    private func isFromVerifiedDevice(
        _ record: InboundSessionRecord, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard let device = try device(record.user, with: record.curve25519, &turn) else { return false }
        return try trust(of: device, &turn).isVerified
    }

    private func entry(
        _ record: InboundSessionRecord, in roomId: String, for key: Curve25519PublicKey, isVerified: Bool,
        _ turn: CryptoTurn
    ) throws(EncryptionError) -> JSONWriter {
        let session = try ExportedSession(record, in: roomId)
        var entry = JSONWriter()
        entry.add("first_message_index", json: "\(record.session.firstIndex)")
        entry.add("forwarded_count", json: "\(record.forwarders.count)")
        entry.add("is_verified", json: isVerified ? "true" : "false")
        entry.add("session_data", try KeyBackup.encrypt(session.backupJSON, for: key, random: turn.random))
        return entry
    }

    mutating func backedUp(in version: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        defer { backup.uploading = [:] }
        guard try backupVersion(&turn)?.version.isExactly(version) == true else { return }
        for (session, mark) in backup.uploading {
            let scope = Self.waitingScope(session.roomId)
            // A session that has improved since is uploaded again.
            guard try turn.records.value(SettingRecord.self, scope: scope, key: session.sessionId)?.text == mark else {
                continue
            }
            unmarkForBackup(session.sessionId, in: session.roomId, &turn)
        }
    }

    // MARK: Reading

    /// Imports the whole backup. ``CryptoNotice/backupRestored(_:)`` reports the result. After the download, each call
    /// of ``requests(_:)`` imports a part, and ``nextRetry`` is in the past while more is left.
    ///
    /// - Throws: `notKnown` before the server was queried, `missingField` if there is no backup, `noPrivateKey`.
    package mutating func restoreBackup(_ turn: inout CryptoTurn) throws(EncryptionError) {
        switch try backupState(&turn) {
        case .unknown: throw .notKnown
        case .none: throw .missingField
        case .untrusted, .ready: break
        }
        guard try backupKey(&turn) != nil else { throw .noPrivateKey }
        backup.isRestoring = true
    }

    mutating func restored(
        _ answer: JSONView, from version: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        // Otherwise, read the backup that has replaced it.
        guard try backupVersion(&turn)?.version.isExactly(version) == true else { return }
        backup.isRestoring = false
        let entries = (answer["rooms"]?.members ?? []).flatMap { roomId, room in
            (room["sessions"]?.members ?? []).map { (roomId: roomId, sessionId: $0.key, entry: $0.value) }
        }
        backup.download = BackupWork.Download(version: version, entries: entries[...])
    }

    /// Imports part of the download. The rest may be left for the next call.
    mutating func takeDownloaded(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard var download = backup.download else { return }
        guard try backupVersion(&turn)?.version.isExactly(download.version) == true, let key = try backupKey(&turn)
        else {
            // A part must not be mistaken for the whole.
            backup.download = nil
            turn.notices.append(.backupRefused)
            return
        }
        for (roomId, sessionId, entry) in download.entries.prefix(Self.entriesOfATurn) {
            download.result.total += 1
            do throws(EncryptionError) {
                if try take(entry, roomId, sessionId, with: key, &turn) { download.result.imported += 1 }
            } catch .store {
                throw .store
            } catch {
                download.result.damaged += 1
            }
        }
        download.entries = download.entries.dropFirst(Self.entriesOfATurn)
        backup.download = download.entries.isEmpty ? nil : download
        if download.entries.isEmpty { turn.notices.append(.backupRestored(download.result)) }
    }

    /// Handles a session found in the backup.
    mutating func found(
        _ entry: JSONView, _ roomId: String, _ sessionId: String, from version: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let session = SessionAddress(roomId, sessionId) else { return }
        try noteSought(session, &turn)
        guard let key = try backupKey(&turn), try backupVersion(&turn)?.version.isExactly(version) == true else {
            return
        }
        do throws(EncryptionError) {
            _ = try take(entry, roomId, sessionId, with: key, &turn)
        } catch .store {
            throw .store
        } catch {
            return  // as good as none
        }
    }

    /// - Returns: Whether it is new, or better than the known one.
    private mutating func take(
        _ entry: JSONView, _ roomId: String, _ sessionId: String, with key: Curve25519KeyPair, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let json = try KeyBackup.decrypt(entry["session_data"] ?? .nothing, with: key)
        let session = try ExportedSession(json, roomID: roomId, sessionID: sessionId)
        let record = try record(session, from: .backup, &turn)
        return try add(record, to: roomId, isBackedUp: true, &turn)
    }
}
