import Basics
package import JSONBytes

/// How this device stands to the backup of room keys.
package enum BackupState: Sendable, Equatable {
    /// The server has not been asked yet.
    case unknown
    /// There is none.
    case none
    /// Nobody whom this device trusts vouches for it: nothing is written to it.
    case untrusted(version: String)
    /// Keys are written to it.
    case ready(version: String)
}

/// What was found in a backup.
package struct BackupRestoration: Sendable, Equatable {
    package var total = 0
    /// Sessions that are new, or better than what was here.
    package var imported = 0
    /// Entries that are damaged, made for another key, or of an unknown kind.
    package var damaged = 0
}

/// What is going on with the backup, in memory.
struct BackupWork: Sendable {
    /// Milliseconds since 1970 before which no key is written; 0 for none, nil if no key waits.
    var due: UInt64?
    /// What is on its way, with the marks of what waits, as they were.
    var uploading: [SessionAddress: String] = [:]
    var asksForVersion = false
    /// Wished for while the answer of before was on its way.
    var asksForVersionAgain = false
    var isRestoring = false
    var download: Download?
    /// How many versions may be deleted yet, at the user's wish.
    var deletions = 0

    static let maximumDeletions = 100

    /// What was downloaded, and is not taken yet.
    struct Download: Sendable {
        let version: String
        var entries: ArraySlice<(roomId: String, sessionId: String, entry: JSONView)>
        var result = BackupRestoration()
    }
}

/// The backup of room keys on the server: which one there is, and who may write to it (Documentation/Rules/encryption.md,
/// "Key backup").
extension CryptoMachine {
    private static let wrongVersion = "M_WRONG_ROOM_KEYS_VERSION"
    private static let notFound = "M_NOT_FOUND"
    /// The scope of backups that the user has deleted or replaced, by their public keys: a server may offer them again.
    private static let deletedBackups = "deleted backups"

    package func backupState(_ turn: inout CryptoTurn) throws(EncryptionError) -> BackupState {
        guard let record: BackupRecord = try turn.records.value() else { return .unknown }
        guard let current = record.current else { return .none }
        return try isTrusted(current, &turn) ? .ready(version: current.version) : .untrusted(version: current.version)
    }

    /// Whether the server is asked which backup there is, to make one, or to delete one, and has not answered for good.
    package func isBackupChanging(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        if backup.asksForVersion || backup.deletions > 0 { return true }
        return try turn.records.value(SecretRecord.self, scope: SecretRecord.new, key: SecretName.backup.rawValue)
            != nil
    }

    /// Whether the private key of the present backup is here.
    package func hasBackupKey(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool { try backupKey(&turn) != nil }

    func backupVersion(_ turn: inout CryptoTurn) throws(EncryptionError) -> BackupRecord.Current? {
        try turn.records.value(BackupRecord.self)?.current
    }

    /// The private key of the present backup; nil if it is not here.
    func backupKey(_ turn: inout CryptoTurn) throws(EncryptionError) -> Curve25519KeyPair? {
        guard let authData = try backupVersion(&turn)?.authData,
            let record: SecretRecord = try turn.records.value(key: SecretName.backup.rawValue)
        else { return nil }
        let pair = try Curve25519KeyPair(privateKey: record.secret)
        return pair.publicKey == authData.publicKey ? pair : nil
    }

    /// What the user writes down of the present backup's key; nil if that is not here.
    package func backupRecoveryKey(_ turn: inout CryptoTurn) throws(EncryptionError) -> String? {
        try backupKey(&turn).map { RecoveryKey.text(of: $0.privateKey) }
    }

    /// Whether keys may be written to it: our verified master key or a verified device of ours has signed it, or its private
    /// key is here.
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

    // MARK: Which there is

    /// Asks the server which backup there is. Before that nothing is written to one, and nothing read.
    package mutating func checkBackup() {
        if isInFlight(CryptoRequest.Call.checkBackup.kind) { backup.asksForVersionAgain = true }
        backup.asksForVersion = true
    }

    /// What the server says of its backup: the answer to `GET /room_keys/version`, or nil if there is none.
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
            // Those who were asked for the old one's key have another now, perhaps.
            try closeSecretRequest(.backup, &turn)
            try seekAllAgain(&turn)
        }
        if old != new { turn.notices.append(.backupChanged) }
    }

    /// The server has another version than was thought.
    private mutating func forgetVersion(_ turn: inout CryptoTurn) {
        backup.uploading = [:]
        checkBackup()
    }

    // MARK: Making one

    /// Makes a backup with a new key: ``requests(_:)`` has what is to be sent, and ``CryptoNotice/backupChanged`` tells when
    /// the server has it.
    ///
    /// - Parameter isReplacement: Takes the place of one that is there.
    /// - Throws: `notKnown` before the server was asked for the one that is there, `backupExists`.
    package mutating func makeBackup(isReplacement: Bool, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let known: BackupRecord = try turn.records.value() else { throw .notKnown }
        guard isReplacement || known.current == nil else { throw .backupExists }
        let name = SecretName.backup.rawValue
        guard try turn.records.value(SecretRecord.self, scope: SecretRecord.new, key: name) == nil else { return }
        let pair = Curve25519KeyPair(random: turn.random)
        turn.records.set(SecretRecord(pair.privateKey), scope: SecretRecord.new, key: name)
        turn.records.set(SettingRecord(isReplacement ? "yes" : "no"), key: Self.newReplaces)
    }

    /// Whether the new backup may take the place of one that is there.
    private static let newReplaces = "new backup replaces"

    /// Takes back the wish for a new backup unless it is the one that is there, or may replace it: another device may have
    /// made one since, or the answer to our own making was lost.
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
            // As good as none.
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

    /// Takes the private key of the present backup: from the storage, another device, or the user.
    ///
    /// - Throws: `notKnown` before the server was asked for its backup, `wrongKey`, `keyLength`.
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

    // MARK: Deleting it

    /// Deletes the backup, and those that were there before it, which the server would take up again. Only the user can
    /// wish it.
    ///
    /// - Throws: `notKnown` before the server was asked for it.
    package mutating func deleteBackup(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let record: BackupRecord = try turn.records.value() else { throw .notKnown }
        guard let current = record.current else { return }
        backup.deletions = BackupWork.maximumDeletions
        turn.records.set(SettingRecord(current.version), key: Self.deletion)
    }

    /// The newest version that is to be deleted, and all before it: a process that ends in between leaves it to the next.
    private static let deletion = "backup deletion"

    /// How many versions may be deleted yet, as an earlier process was asked to.
    func storedDeletions(_ turn: inout CryptoTurn) throws(EncryptionError) -> Int {
        try turn.records.value(SettingRecord.self, key: Self.deletion) == nil ? 0 : BackupWork.maximumDeletions
    }

    private mutating func endDeletion(_ turn: inout CryptoTurn) {
        if backup.deletions > 0 { turn.records.remove(.setting, key: Self.deletion) }
        backup.deletions = 0
    }

    /// One that was made since is nobody's wish to lose. Of names that are no numbers nobody can tell which is newer: then
    /// the user is told that not all were deleted.
    private mutating func noteNewer(_ version: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let newest = try turn.records.value(SettingRecord.self, key: Self.deletion)?.text,
            !version.isExactly(newest)
        else { return }
        let names = [version, newest].map { Array($0.utf8) }
        let areNumbers = names.allSatisfy { name in
            name.allSatisfy { (0x30...0x39).contains($0) } && (name.first != 0x30 || name.count == 1)
        }
        if areNumbers {
            // Of any length.
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

    /// Nothing is written to the present backup any more, whatever the server says.
    private func giveUpBackup(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let key = try backupVersion(&turn)?.authData?.publicKey.base64 else { return }
        turn.records.set(SettingRecord("yes"), scope: Self.deletedBackups, key: key)
    }

    // MARK: Requests

    /// Lets keys and secrets be asked for and answered, and gives what the backup is asked.
    mutating func keyRequests(_ turn: inout CryptoTurn) throws(EncryptionError) -> [CryptoRequest] {
        try takeDownloaded(&turn)
        try takeHistory(&turn)
        try resumeHistory(&turn)
        try answerQuestions(&turn)
        try askForSecrets(&turn)
        try shareHistory(&turn)
        let hasKey = backup.asksForVersion ? false : try backupKey(&turn) != nil
        // Devices are asked while the backup does not answer.
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
            // What is written or read meanwhile may be of another version.
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

    /// A request about the backup was answered.
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

    /// A request about the backup has failed.
    ///
    /// - Parameter code: The server's.
    /// - Returns: Whether it is done with. Otherwise it is made again after a pause.
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
                // It may have been made, or another one until it is asked for again.
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
            // It pauses, too: a server that says so each time is not to be asked without end.
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
