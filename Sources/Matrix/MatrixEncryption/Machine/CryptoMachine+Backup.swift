import Basics
package import JSONBytes

/// The state of the key backup on this device.
package enum BackupState: Sendable, Equatable {
    /// The server has not been queried yet.
    case unknown
    /// There is no backup.
    case none
    /// The backup is not signed by anything that this device trusts. Nothing is written to it.
    case untrusted(version: String)
    /// Keys are written to the backup.
    case ready(version: String)
}

/// The result of restoring a backup.
package struct BackupRestoration: Sendable, Equatable {
    package var total = 0
    /// The number of sessions that are new, or better than the known ones.
    package var imported = 0
    /// The number of entries that are damaged, made for another key, or of an unknown kind.
    package var damaged = 0
}

/// The in-memory state of backup operations.
struct BackupWork: Sendable {
    /// The time of the next upload in milliseconds since 1970: 0 for at once, `nil` if no key is waiting.
    var due: UInt64?
    /// The sessions being uploaded, with their marks at the time.
    var uploading: [SessionAddress: String] = [:]
    var asksForVersion = false
    /// Whether another check was requested while one was pending.
    var asksForVersionAgain = false
    var isRestoring = false
    var download: Download?
    /// The number of versions that may still be deleted on the user's request.
    var deletions = 0

    static let maximumDeletions = 100

    /// A download that has not been imported yet.
    struct Download: Sendable {
        let version: String
        var entries: ArraySlice<(roomId: String, sessionId: String, entry: JSONView)>
        var result = BackupRestoration()
    }
}

/// The key backup on the server: which version exists, and who may write to it (Documentation/Rules/encryption.md, "Key
/// backup").
extension CryptoMachine {
    private static let wrongVersion = "M_WRONG_ROOM_KEYS_VERSION"
    private static let notFound = "M_NOT_FOUND"
    /// The scope of backups that the user has deleted or replaced, by public key: a server may offer them again.
    private static let deletedBackups = "deleted backups"

    package func backupState(_ turn: inout CryptoTurn) throws(EncryptionError) -> BackupState {
        guard let record: BackupRecord = try turn.records.value() else { return .unknown }
        guard let current = record.current else { return .none }
        return try isTrusted(current, &turn) ? .ready(version: current.version) : .untrusted(version: current.version)
    }

    /// Returns whether a request to check, create or delete the backup has not been answered conclusively.
    package func isBackupChanging(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        if backup.asksForVersion || backup.deletions > 0 { return true }
        return try turn.records.value(SecretRecord.self, scope: SecretRecord.new, key: SecretName.backup.rawValue)
            != nil
    }

    /// Returns whether the private key of the current backup is available.
    package func hasBackupKey(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool { try backupKey(&turn) != nil }

    func backupVersion(_ turn: inout CryptoTurn) throws(EncryptionError) -> BackupRecord.Current? {
        try turn.records.value(BackupRecord.self)?.current
    }

    /// Returns the private key of the current backup; `nil` if it is not available.
    func backupKey(_ turn: inout CryptoTurn) throws(EncryptionError) -> Curve25519KeyPair? {
        guard let authData = try backupVersion(&turn)?.authData,
            let record: SecretRecord = try turn.records.value(key: SecretName.backup.rawValue)
        else { return nil }
        let pair = try Curve25519KeyPair(privateKey: record.secret)
        return pair.publicKey == authData.publicKey ? pair : nil
    }

    /// Returns the recovery key of the current backup, for the user to write down; `nil` if it is not available.
    package func backupRecoveryKey(_ turn: inout CryptoTurn) throws(EncryptionError) -> String? {
        try backupKey(&turn).map { RecoveryKey.text(of: $0.privateKey) }
    }

    /// Returns whether keys may be written to it: our verified master key or one of our verified devices has signed it,
    /// or its private key is available.
    func isTrusted(_ backup: BackupRecord.Current, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard let authData = backup.authData else { return false }
        let key = authData.publicKey.base64
        guard try turn.records.value(SettingRecord.self, scope: Self.deletedBackups, key: key) == nil else {
            return false
        }
        var trusted = [ByteKey("ed25519:" + me.device): account.ed25519.publicKey]
        for device in try otherDevices(&turn).verified {
            trusted[ByteKey("ed25519:" + device.keys.deviceID)] = device.keys.ed25519
        }
        if try trustsOwnIdentity(&turn), let own: IdentityRecord = try turn.records.value(key: me.user) {
            trusted[ByteKey(own.master.id)] = own.master.publicKey
        }
        return authData.isTrusted(user: me.user, trusted: trusted, privateKey: try backupKey(&turn))
    }

    // MARK: Current version

    /// Checks which backup the server has. Until the answer, nothing is written to or read from a backup.
    package mutating func checkBackup() {
        if isInFlight(CryptoRequest.Call.checkBackup.kind) { backup.asksForVersionAgain = true }
        backup.asksForVersion = true
    }

    /// Records the server's backup: the answer to `GET /room_keys/version`, or `nil` if there is none.
    package mutating func noteBackup(_ answer: JSONView?, _ turn: inout CryptoTurn) throws(EncryptionError) {
        (backup.asksForVersion, backup.asksForVersionAgain) = (backup.asksForVersionAgain, false)
        guard let answer else {
            endRestoration(&turn)
            if backup.deletions > 0 { turn.records.remove(.secret, key: SecretName.backup.rawValue) }
            endDeletion(&turn)
            return try note(BackupRecord(nil), &turn)
        }
        guard let version = answer["version"]?.string, !version.isEmpty, version.utf8.count <= 255 else { return }
        try noteNewer(version, &turn)
        let isKnown = answer["algorithm"]?.string?.isExactly(KeyBackup.algorithm) == true
        let authData = isKnown ? answer["auth_data"].flatMap { try? KeyBackupAuthData($0) } : nil
        try note(BackupRecord(.init(version: version, authData: authData)), &turn)
        try compareNewBackup(with: answer, authData, &turn)
        guard try backupKey(&turn) == nil else { return }
        endRestoration(&turn)  // it cannot be read
        if try trustsOwnIdentity(&turn), authData != nil { try requestSecret(.backup, &turn) }
    }

    private mutating func endRestoration(_ turn: inout CryptoTurn) {
        if backup.isRestoring { turn.notices.append(.backupRefused) }
        backup.isRestoring = false
    }

    private mutating func note(_ new: BackupRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let old: BackupRecord? = try turn.records.value()
        if old != new { turn.records.set(new) }
        let (before, after) = (old?.current, new.current)
        if before?.version != after?.version || before?.authData?.publicKey != after?.authData?.publicKey {
            backup.uploading = [:]
            if after != nil { try markAllForBackup(&turn) }
            // The devices that were asked for the old backup's key may have another one now.
            try closeSecretRequest(.backup, &turn)
            try seekAllAgain(&turn)
        }
        if old != new { turn.notices.append(.backupChanged) }
    }

    /// Handles a version on the server that differs from the known one.
    private mutating func forgetVersion(_ turn: inout CryptoTurn) {
        backup.uploading = [:]
        checkBackup()
    }

    // MARK: Creating a backup

    /// Creates a backup with a new key. ``requests(_:)`` returns the request to send, and
    /// ``CryptoNotice/backupChanged`` reports when the server has it.
    ///
    /// - Parameter isReplacement: Whether it replaces an existing backup.
    /// - Throws: `notKnown` before the server was queried, `backupExists`.
    package mutating func makeBackup(isReplacement: Bool, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let known: BackupRecord = try turn.records.value() else { throw .notKnown }
        guard isReplacement || known.current == nil else { throw .backupExists }
        let name = SecretName.backup.rawValue
        guard try turn.records.value(SecretRecord.self, scope: SecretRecord.new, key: name) == nil else { return }
        let pair = Curve25519KeyPair(random: turn.random)
        turn.records.set(SecretRecord(pair.privateKey), scope: SecretRecord.new, key: name)
        turn.records.set(SettingRecord(isReplacement ? "yes" : "no"), key: Self.newReplaces)
    }

    /// Whether the new backup may replace an existing one.
    private static let newReplaces = "new backup replaces"

    /// Cancels the creation of a backup unless the existing one is the new one or may be replaced. Another device may
    /// have created one since, or the answer to our own request was lost.
    private mutating func compareNewBackup(
        with answer: JSONView, _ authData: KeyBackupAuthData?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let (_, new) = try newBackup(&turn) else { return }
        if authData?.publicKey == new.publicKey { return try backupMade(answer, &turn) }
        guard try turn.records.value(SettingRecord.self, key: Self.newReplaces)?.text != "yes" else { return }
        turn.records.remove(.secret, scope: SecretRecord.new, key: SecretName.backup.rawValue)
        turn.notices.append(.backupRefused)
    }

    private func newBackup(
        _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> (secret: SecretRecord, authData: KeyBackupAuthData)? {
        let name = SecretName.backup.rawValue
        guard let secret: SecretRecord = try turn.records.value(scope: SecretRecord.new, key: name) else { return nil }
        var authData = try KeyBackupAuthData(publicKey: Curve25519KeyPair(privateKey: secret.secret).publicKey)
            .signed(by: account.ed25519, user: me.user, keyID: "ed25519:" + me.device)
        if let master = try privateKey(.master, &turn) {
            authData = try authData.signed(by: master, user: me.user, keyID: "ed25519:" + master.publicKey.base64)
        }
        return (secret, authData)
    }

    private mutating func backupMade(_ answer: JSONView, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let (secret, authData) = try newBackup(&turn) else { return }
        guard let version = answer["version"]?.string, !version.isEmpty, version.utf8.count <= 255 else {
            // Treat this as a failure.
            pauses[CryptoRequest.Call.makeBackup.kind, default: Pause()].fail(at: turn.now)
            return
        }
        if try backupVersion(&turn)?.authData?.publicKey != authData.publicKey { try giveUpBackup(&turn) }
        endRestoration(&turn)
        turn.records.remove(.secret, scope: SecretRecord.new, key: SecretName.backup.rawValue)
        turn.records.set(secret, key: SecretName.backup.rawValue)
        try closeSecretRequest(.backup, &turn)
        try note(BackupRecord(.init(version: version, authData: authData)), &turn)
    }

    /// Stores the private key of the current backup, from the secret storage, another device, or the user.
    ///
    /// - Throws: `notKnown` before the server was queried, `wrongKey`, `keyLength`.
    mutating func takeBackupKey(_ secret: SecretBytes, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let record: BackupRecord = try turn.records.value() else { throw .notKnown }
        guard let authData = record.current?.authData,
            try Curve25519KeyPair(privateKey: secret).publicKey == authData.publicKey
        else { throw .wrongKey }
        turn.records.set(SecretRecord(secret), key: SecretName.backup.rawValue)
        try closeSecretRequest(.backup, &turn)
        traffic.missingEpoch = nil  // the backup can be read now
        turn.notices.append(.backupChanged)
    }

    // MARK: Deleting the backup

    /// Deletes the backup and the versions before it, to which the server would fall back. Only on the user's request.
    ///
    /// - Throws: `notKnown` before the server was queried.
    package mutating func deleteBackup(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let record: BackupRecord = try turn.records.value() else { throw .notKnown }
        guard let current = record.current else { return }
        backup.deletions = BackupWork.maximumDeletions
        turn.records.set(SettingRecord(current.version), key: Self.deletion)
    }

    /// The newest version to delete, with all earlier ones. If the process ends before that, the next one continues.
    private static let deletion = "backup deletion"

    /// Returns the number of versions that may still be deleted, as requested of an earlier process.
    func storedDeletions(_ turn: inout CryptoTurn) throws(EncryptionError) -> Int {
        try turn.records.value(SettingRecord.self, key: Self.deletion) == nil ? 0 : BackupWork.maximumDeletions
    }

    private mutating func endDeletion(_ turn: inout CryptoTurn) {
        if backup.deletions > 0 { turn.records.remove(.setting, key: Self.deletion) }
        backup.deletions = 0
    }

    /// Stops before a newer version, which the user did not ask to delete. If the names are not numbers, it is unknown
    /// which is newer; the user is then notified that not all were deleted.
    private mutating func noteNewer(_ version: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let newest = try turn.records.value(SettingRecord.self, key: Self.deletion)?.text,
            !version.isExactly(newest)
        else { return }
        let names = [version, newest].map { Array($0.utf8) }
        let areNumbers = names.allSatisfy { name in
            name.allSatisfy { (0x30...0x39).contains($0) } && (name.first != 0x30 || name.count == 1)
        }
        if areNumbers {
            // The numbers can have any length.
            let isNewer =
                names[0].count != names[1].count
                ? names[0].count > names[1].count : names[1].lexicographicallyPrecedes(names[0])
            guard isNewer else { return }
        } else {
            turn.notices.append(.backupRefused)
        }
        endDeletion(&turn)
    }

    private mutating func backupDeleted(_ turn: inout CryptoTurn) throws(EncryptionError) {
        backup.deletions -= 1
        if backup.deletions == 0 { turn.records.remove(.setting, key: Self.deletion) }
        try giveUpBackup(&turn)
        forgetVersion(&turn)
    }

    /// Stops writing to the current backup, whatever the server reports.
    private func giveUpBackup(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let key = try backupVersion(&turn)?.authData?.publicKey.base64 else { return }
        turn.records.set(SettingRecord("yes"), scope: Self.deletedBackups, key: key)
    }

    // MARK: Requests

    /// Processes requests for keys and secrets, and returns the requests for the backup.
    mutating func keyRequests(_ turn: inout CryptoTurn) throws(EncryptionError) -> [CryptoRequest] {
        try takeDownloaded(&turn)
        try takeHistory(&turn)
        try resumeHistory(&turn)
        try answerQuestions(&turn)
        try askForSecrets(&turn)
        try shareHistory(&turn)
        let hasKey = backup.asksForVersion ? false : try backupKey(&turn) != nil
        // While the backup does not respond, devices are asked.
        let sought = try pursueMissing(hasBackup: hasKey && !isPaused("backup session", turn), &turn)
        return try backupRequests(for: sought, hasKey: hasKey, &turn)
    }

    private mutating func backupRequests(
        for sought: SessionAddress?, hasKey: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [CryptoRequest] {
        var requests: [CryptoRequest] = []
        if !backup.asksForVersion, let (_, authData) = try newBackup(&turn), mayBegin(.makeBackup, turn) {
            var body = JSONWriter()
            body.add("algorithm", KeyBackup.algorithm)
            body.add("auth_data", authData.json)
            requests.append(request(.makeBackup, body: body.text))
        }
        if backup.asksForVersion {
            // Anything written or read meanwhile may belong to another version.
            if mayBegin(.checkBackup, turn) { requests.append(request(.checkBackup, body: "")) }
            return requests
        }
        guard let current = try backupVersion(&turn) else { return requests }
        if backup.deletions > 0 {
            let call = CryptoRequest.Call.deleteBackup(version: current.version)
            if mayBegin(call, turn) { requests.append(request(call, body: "")) }
            return requests
        }
        if hasKey {
            let all = CryptoRequest.Call.downloadRoomKeys(version: current.version)
            if backup.isRestoring, mayBegin(all, turn) { requests.append(request(all, body: "")) }
            if let sought {
                let one = CryptoRequest.Call.downloadRoomKey(
                    version: current.version, roomId: sought.roomId, sessionId: sought.sessionId)
                if mayBegin(one, turn) { requests.append(request(one, body: "")) }
            }
        }
        let upload = CryptoRequest.Call.uploadRoomKeys(version: current.version)
        if mayBegin(upload, turn), let body = try backupUpload(to: current, &turn) {
            requests.append(request(upload, body: body))
        }
        return requests
    }

    private func mayBegin(_ call: CryptoRequest.Call, _ turn: CryptoTurn) -> Bool {
        !isInFlight(call.kind) && !isPaused(call.kind, turn)
    }

    /// Handles the answer to a backup request.
    mutating func backupAnswered(
        _ call: CryptoRequest.Call, _ answer: JSONView, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        switch call {
        case .checkBackup: try noteBackup(answer, &turn)
        case .makeBackup: try backupMade(answer, &turn)
        case .deleteBackup: try backupDeleted(&turn)
        case .uploadRoomKeys(let version): try backedUp(in: version, &turn)
        case .downloadRoomKeys(let version): try restored(answer, from: version, &turn)
        case .downloadRoomKey(let version, let roomId, let sessionId):
            try found(answer, roomId, sessionId, from: version, &turn)
        case .uploadKeys, .queryKeys, .claimKeys, .sendToDevice, .uploadSignatures, .sendToRoom: break
        }
    }

    /// Handles a failed backup request.
    ///
    /// - Parameter code: The server's error code.
    /// - Returns: Whether the request is finished. Otherwise it is retried after a pause.
    mutating func backupFailed(
        _ call: CryptoRequest.Call, isFinal: Bool, code: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        switch call {
        case .checkBackup:
            guard code == Self.notFound else { return false }
            try noteBackup(nil, &turn)
            return true
        case .makeBackup:
            guard isFinal else {
                // It may have been created, or another one until the retry.
                checkBackup()
                return false
            }
            turn.records.remove(.secret, scope: SecretRecord.new, key: SecretName.backup.rawValue)
            turn.notices.append(.backupRefused)
            return true
        case .deleteBackup:
            if code == Self.notFound {
                try backupDeleted(&turn)
                return true
            }
            guard isFinal else { return false }
            endDeletion(&turn)
            turn.notices.append(.backupRefused)
            return true
        case .uploadRoomKeys:
            backup.uploading = [:]
            // Pause as well, so that a server that always answers like this is not queried endlessly.
            if code == Self.wrongVersion || code == Self.notFound { forgetVersion(&turn) }
            return false
        case .downloadRoomKeys:
            if code == Self.wrongVersion || code == Self.notFound {
                forgetVersion(&turn)
                return false
            }
            guard isFinal else { return false }
            backup.isRestoring = false
            turn.notices.append(.backupRefused)
            return true
        case .downloadRoomKey(_, let roomId, let sessionId):
            if code == Self.wrongVersion { forgetVersion(&turn) }
            guard isFinal, let session = SessionAddress(roomId, sessionId) else { return false }
            try noteSought(session, &turn)
            return code == Self.notFound
        case .uploadKeys, .queryKeys, .claimKeys, .sendToDevice, .uploadSignatures, .sendToRoom: return false
        }
    }
}
