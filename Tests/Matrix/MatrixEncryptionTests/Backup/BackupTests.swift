import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// The backup of room keys, from creation to deletion.
@Suite struct BackupTests {
    private let server = KeyServer()
    private let alice: TestDevice

    init() throws {
        alice = try TestDevice("@alice:s", "A", on: server)
        try alice.makeIdentity()
    }

    private func uploads() -> Int {
        server.requests.count { if case .uploadRoomKeys = $0.call { true } else { false } }
    }

    /// Advances the clock past the delay before new keys are uploaded.
    private func backUp(_ device: TestDevice) throws {
        device.now += 10_000
        try device.pump()
    }

    private func entries() throws -> Int { try #require(server.backups.versions.last).count }

    // MARK: Writing

    @Test func allSessionsAreWrittenOnce_aHundredAtATime() throws {
        _ = try alice.makeSessions(250)
        #expect(try alice.backupState == .unknown)
        #expect(throws: EncryptionError.notKnown) { try alice.turn { try $0.makeBackup(isReplacement: false, &$1) } }
        try alice.checkBackup()
        #expect(try alice.backupState == .none)
        #expect(try alice.turn { try $0.sessionsToBackUp(&$1) } == 250)
        try alice.makeBackup()
        #expect(try alice.backupState == .ready(version: "1"))
        #expect(try uploads() == 3 && entries() == 250)
        #expect(alice.notices.contains(.backupChanged))
        #expect(try alice.turn { try $0.sessionsToBackUp(&$1) } == 0)
        try alice.restart()
        try alice.pump()
        #expect(uploads() == 3)
        #expect(throws: EncryptionError.backupExists) {
            try alice.turn { try $0.makeBackup(isReplacement: false, &$1) }
        }
        // A new version is empty.
        try alice.makeBackup(isReplacement: true)
        #expect(try uploads() == 6 && entries() == 250 && server.backups.versions.count == 2)
    }

    @Test func aNewKeyWaitsForOthers_andOneThatGotBetterIsWrittenAgain() throws {
        try alice.makeBackup()
        let session = OutboundGroupSession(random: .system)
        let inbound = try InboundGroupSession(sessionKey: session.sessionKey)
        func take(at index: UInt32) throws {
            let exported = try ExportedSession(
                roomID: "!r:s", senderKey: Curve25519PublicKey([UInt8](repeating: 9, count: 32)), senderClaimedKey: nil,
                forwardingChain: [], sessionKey: inbound.exported(at: index), isSharedHistory: false)
            #expect(try alice.turn { try $0.importSessions([exported], &$1) } == 1)
        }
        try take(at: 7)
        let due = try #require(alice.machine.backup.due)
        #expect(due >= alice.now && due < alice.now + 10_000)
        if due > alice.now {
            #expect(alice.machine.nextRetry == due)
            try alice.pump()
            #expect(uploads() == 0)
        }
        try backUp(alice)
        let entry = server.backups.versions[0].rooms["!r:s"]?[session.id]
        #expect(uploads() == 1 && entry?["first_message_index"]?.int == 7)
        #expect(alice.machine.nextRetry == nil)
        // A better key arrives during the upload of the next one.
        try take(at: 5)
        alice.now += 10_000
        let request = try #require(try alice.turn { try $0.requests(&$1) }.first)
        try take(at: 3)
        let answer = try server.answer(request, from: alice.address)
        try alice.turn { try $0.answered(request.id, answer, &$1) }
        try backUp(alice)
        let last = server.backups.versions[0].rooms["!r:s"]?[session.id]
        #expect(uploads() == 3 && last?["first_message_index"]?.int == 3)
    }

    @Test func aServerThatFailsIsTriedAgainAfterAWhile() throws {
        try alice.makeBackup()
        _ = try alice.makeSessions(1)
        server.backups.isFailing = true
        try backUp(alice)
        #expect(uploads() == 1)
        let retry = try #require(alice.machine.nextRetry)
        #expect(retry == alice.now + 15_000)
        try alice.pump()
        #expect(uploads() == 1)
        (alice.now, server.backups.isFailing) = (retry, false)
        try alice.pump()
        #expect(try uploads() == 2 && entries() == 1)
        #expect(alice.machine.nextRetry == nil)
    }

    // MARK: Selecting a version

    @Test func anotherVersionThanWasThoughtIsAskedFor_andTrustedAnew() throws {
        try alice.makeBackup()
        let second = try alice.second()
        try second.checkBackup()
        try alice.verify(second)
        try second.sync()
        try second.makeBackup(isReplacement: true)
        _ = try alice.makeSessions(1)
        try backUp(alice)
        #expect(try alice.backupState == .ready(version: "2"))
        alice.now += 15_000
        try alice.pump()
        #expect(try entries() == 1)
        // The other device sends its key.
        try second.sync()
        try alice.sync()
        #expect(try alice.secret(.backup) == second.secret(.backup))
    }

    @Test(.rule("R34")) func nothingIsWrittenToABackupThatNobodyVouchesFor() throws {
        try alice.makeBackup()
        _ = try alice.makeSessions(3)
        let good = try #require(server.backups.versions[0].content["auth_data"])
        let key = Curve25519KeyPair(random: .system).publicKey
        let stranger = Ed25519KeyPair(random: .system)
        let forged = KeyBackupAuthData(publicKey: key)
        let master = try alice.identity(of: "@alice:s").master
        let swapped = object { writer in
            writer.add("public_key", key.base64)
            writer.add("signatures", good["signatures"] ?? .nothing)
        }
        let unverified = try alice.second()
        let byUnverified = try forged.signed(
            by: unverified.machine.account.ed25519, user: "@alice:s", keyID: "ed25519:A2"
        ).json
        let foreign = [
            forged.json, swapped, byUnverified,
            try forged.signed(by: stranger, user: "@alice:s", keyID: "ed25519:A").json,
            try forged.signed(by: stranger, user: "@alice:s", keyID: master.id).json,
            try forged.signed(by: stranger, user: "@eve:s", keyID: "ed25519:E").json, object { _ in },
        ]
        for authData in foreign {
            server.backups.add(
                object { writer in
                    writer.add("algorithm", KeyBackup.algorithm)
                    writer.add("auth_data", authData)
                })
            try alice.checkBackup()
            #expect(try alice.backupState == .untrusted(version: server.backups.versions.last?.id ?? ""))
            try backUp(alice)
            alice.now += 600_000
            try alice.pump()
            #expect(try entries() == 0)
        }
        server.backups.add(
            object { writer in
                writer.add("algorithm", "m.other")
                writer.add("auth_data", good)
            })
        try alice.checkBackup()
        try backUp(alice)
        #expect(try entries() == 0)
        #expect(uploads() == 0)
        #expect(throws: EncryptionError.wrongKey) {
            try alice.turn { try $0.take(try #require(try $0.secret(.backup, &$1)), as: .backup, &$1) }
        }
    }

    @Test func aServerThatAlwaysNamesAnotherVersionIsNotAskedWithoutEnd() throws {
        try alice.makeBackup()
        _ = try alice.makeSessions(1)
        server.backups.isAlwaysWrong = true
        let before = server.requests.count
        try backUp(alice)
        #expect(server.requests.count == before + 2)  // an upload, and a check of the current version
        alice.now += 15_000
        try alice.pump()
        #expect(server.requests.count == before + 4)
        #expect(alice.machine.nextRetry == alice.now + 30_000)
    }

    // MARK: Reading

    @Test func aNewDeviceReadsIt_withTheRecoveryKey() throws {
        let bob = try TestDevice("@bob:s", "B", on: server)
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
        let event = try bob.send("kept", to: .room("@alice:s", "@bob:s"))
        try alice.sync()
        _ = try alice.makeSessions(30)
        try alice.makeBackup()
        // Entries as a server may damage them.
        server.backups.versions[0].rooms["!r:s"]?["damaged"] = object { $0.add("session_data", "x") }
        let (id, entry) = try #require(
            server.backups.versions[0].rooms["!r:s"]?.first { $0.key != event.sessionId && $0.key != "damaged" })
        server.backups.versions[0].rooms["!other:s"] = ["moved": entry]
        let recoveryKey = try #require(try alice.turn { try $0.backupRecoveryKey(&$1) })

        let second = try alice.second()
        #expect(throws: EncryptionError.notKnown) { try second.turn { try $0.restoreBackup(&$1) } }
        #expect(throws: EncryptionError.notKnown) {
            try second.turn { try $0.take(RecoveryKey.key(recoveryKey), as: .backup, &$1) }
        }
        try second.checkBackup()
        #expect(try second.backupState == .untrusted(version: "1"))
        #expect(throws: EncryptionError.noPrivateKey) { try second.turn { try $0.restoreBackup(&$1) } }
        let wrong = SecretBytes([UInt8](repeating: 1, count: 32))
        #expect(throws: EncryptionError.wrongKey) { try second.turn { try $0.take(wrong, as: .backup, &$1) } }
        try second.turn { try $0.take(RecoveryKey.key(recoveryKey), as: .backup, &$1) }
        #expect(try second.backupState == .ready(version: "1"))
        try second.turn { try $0.restoreBackup(&$1) }
        try second.pump()
        #expect(second.notices.contains(.backupRestored(BackupRestoration(total: 33, imported: 31, damaged: 2))))
        #expect(try second.session(id, in: "!other:s") == nil)
        #expect(try second.text(event) == "kept")
        let shield = try second.turn { try $0.shield(roomId: "!r:s", sessionId: event.sessionId, &$1) }
        #expect(shield == .authenticityNotGuaranteed)
        // Keys from the backup are not uploaded again.
        let before = uploads()
        try backUp(second)
        #expect(uploads() == before)
    }

    @Test func aLargeBackupIsReadInParts() throws {
        try alice.makeBackup()
        let key = try KeyBackupAuthData(server.backups.versions[0].content.value("auth_data")).publicKey
        let other = try TestDevice("@bob:s", "B", on: server)
        let entries = try other.makeSessions(20).map { session in
            let data = try KeyBackup.encrypt(session.backupJSON, for: key, random: .system)
            return (session.sessionID, object { $0.add("session_data", data) })
        }
        server.backups.versions[0].rooms = Dictionary(
            uniqueKeysWithValues: (0..<120).map { number in
                ("!\(number):s", Dictionary(uniqueKeysWithValues: entries))
            })
        alice.takeNotices()
        try alice.turn { try $0.restoreBackup(&$1) }
        try alice.pump()
        #expect(alice.notices.count { if case .roomKey = $0 { true } else { false } } == 1_000)
        for _ in 0..<2 {
            #expect(try #require(alice.machine.nextRetry) <= alice.now)
            try alice.pump()
        }
        #expect(alice.notices.contains(.backupRestored(BackupRestoration(total: 2_400, imported: 2_400, damaged: 0))))
        #expect(alice.machine.nextRetry == nil)
    }

    @Test(.rule("R20")) func oneSessionIsReadWhenAMessageWaitsForIt() throws {
        let bob = try TestDevice("@bob:s", "B", on: server)
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
        let room = RoomToEncrypt.room("@alice:s", "@bob:s")
        let event = try bob.send("kept", to: room)
        try alice.sync()
        try alice.makeBackup()
        let second = try alice.second()
        try second.checkBackup()
        try second.turn { try $0.take(try #require(try alice.secret(.backup)), as: .backup, &$1) }
        func looks() -> Int { server.requests.count { if case .downloadRoomKey = $0.call { true } else { false } } }
        #expect(try second.failure(event) == .unknownSession)
        try second.pump()
        #expect(try looks() == 1 && second.text(event) == "kept")
        // A missing session is not looked up again and again.
        try bob.turn { try $0.discardSession(of: "!r:s", &$1) }
        let lost = try bob.send("lost", to: .room("@bob:s"))
        for _ in 0..<3 {
            #expect(try second.failure(lost) == .unknownSession)
            try second.pump()
        }
        #expect(looks() == 2)
        second.now += 299_999
        #expect(try second.failure(lost) == .unknownSession)
        try second.pump()
        #expect(looks() == 2)
        second.now += 1
        try second.pump()
        #expect(looks() == 2)  // no pending request for it
        #expect(try second.failure(lost) == .unknownSession)
        try second.pump()
        #expect(looks() == 3)
    }

    /// Anyone with the public key can write to the backup.
    @Test func whatTheBackupSaysDoesNotTakeThePlaceOfWhatTheOwnerSaid() throws {
        let bob = try TestDevice("@bob:s", "B", on: server)
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
        let event = try bob.send("x", to: .room("@alice:s", "@bob:s"))
        try alice.sync()
        try alice.makeBackup()
        let key = try KeyBackupAuthData(server.backups.versions[0].content.value("auth_data")).publicKey
        var bytes = try #require(try alice.session(event.sessionId)).session.exported().withUnsafeBytes { Array($0) }
        bytes[50] ^= 1
        let forged = try ExportedSession(
            roomID: "!r:s", senderKey: Curve25519KeyPair(random: .system).publicKey, senderClaimedKey: nil,
            forwardingChain: [], sessionKey: SecretBytes(bytes), isSharedHistory: false)
        let data = try KeyBackup.encrypt(forged.backupJSON, for: key, random: .system)
        server.backups.versions[0].rooms["!r:s"]?[event.sessionId] = object { $0.add("session_data", data) }
        let before = try alice.session(event.sessionId)
        alice.takeNotices()
        try alice.turn { try $0.restoreBackup(&$1) }
        try alice.pump()
        #expect(alice.notices.contains(.backupRestored(BackupRestoration(total: 1, imported: 0, damaged: 1))))
        #expect(try alice.session(event.sessionId) == before)
        #expect(try alice.text(event) == "x")
    }

    /// The server knows the public key and may store something else for a session.
    @Test func aBackupFullOfWrongKeysDoesNotKeepOurDevicesFromHelping() throws {
        let bob = try TestDevice("@bob:s", "B", on: server)
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
        let event = try bob.send("x", to: .room("@alice:s", "@bob:s"))
        try alice.sync()
        try alice.makeBackup()
        let key = try KeyBackupAuthData(server.backups.versions[0].content.value("auth_data")).publicKey
        let real = try #require(try alice.session(event.sessionId))
        var bytes = try real.session.exported().withUnsafeBytes { Array($0) }
        bytes[50] ^= 1
        let wrong = try ExportedSession(
            roomID: "!r:s", senderKey: real.curve25519, senderClaimedKey: real.ed25519, forwardingChain: [],
            sessionKey: SecretBytes(bytes), isSharedHistory: false)
        let data = try KeyBackup.encrypt(wrong.backupJSON, for: key, random: .system)
        server.backups.versions[0].rooms["!r:s"]?[event.sessionId] = object { $0.add("session_data", data) }
        let second = try alice.second()
        try second.checkBackup()
        try alice.verify(second)
        try second.sync()
        try second.turn { try $0.restoreBackup(&$1) }
        try second.pump()
        #expect(try second.session(event.sessionId)?.source == .backup)
        #expect(try second.failure(event) == .unknownSession)
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.session(event.sessionId)?.source == .forwarded)
        #expect(try second.text(event) == "x")
    }

    @Test func devicesAreAskedWhileTheBackupDoesNotAnswer() throws {
        let bob = try TestDevice("@bob:s", "B", on: server)
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
        let event = try bob.send("x", to: .room("@alice:s", "@bob:s"))
        try alice.sync()
        try alice.makeBackup()
        let second = try alice.second()
        try second.checkBackup()
        try alice.verify(second)
        try second.sync()
        server.backups.isFailing = true
        #expect(try second.failure(event) == .unknownSession)
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.text(event) == "x")
        // No wake-up is scheduled for a finished backup.
        server.backups.isFailing = false
        for _ in 0..<3 {
            second.now += 60_000
            try second.pump()
        }
        #expect(second.machine.pauses["backup session"] != nil && second.machine.nextRetry == nil)
    }

    // MARK: Deletion

    @Test func deletingItDeletesThoseBeforeIt() throws {
        for _ in 0..<3 { try alice.makeBackup(isReplacement: true) }
        #expect(server.backups.versions.count == 3)
        try alice.turn { try $0.deleteBackup(&$1) }
        try alice.pump()
        #expect(server.backups.versions.isEmpty)
        #expect(try alice.backupState == .none)
        #expect(try alice.secret(.backup) == nil)
        _ = try alice.makeSessions(1)
        try backUp(alice)
        #expect(uploads() == 0)
    }

    /// Otherwise the server would make the previous version current again.
    @Test func deletingThemGoesOnInTheNextProcess_upToWhatIsNewer() throws {
        for _ in 0..<3 { try alice.makeBackup(isReplacement: true) }
        try alice.turn { try $0.deleteBackup(&$1) }
        for request in try alice.turn({ try $0.requests(&$1) }) {
            let answer = try server.answer(request, from: alice.address)
            try alice.turn { try $0.answered(request.id, answer, &$1) }
        }
        #expect(server.backups.versions.map(\.id) == ["1", "2"])
        try alice.restart()
        try alice.pump()
        #expect(server.backups.versions.isEmpty)
        // A version that another device has made since is kept.
        let second = try alice.second()
        try alice.verify(second)
        for _ in 0..<2 { try alice.makeBackup(isReplacement: true) }
        try alice.turn { try $0.deleteBackup(&$1) }
        for request in try alice.turn({ try $0.requests(&$1) }) {
            let answer = try server.answer(request, from: alice.address)
            try alice.turn { try $0.answered(request.id, answer, &$1) }
        }
        try second.makeBackup(isReplacement: true)
        #expect(server.backups.versions.map(\.id) == ["4", "6"])
        try alice.restart()
        try alice.pump()
        #expect(server.backups.versions.map(\.id) == ["4", "6"])
        try alice.restart()
        try alice.pump()
        #expect(server.backups.versions.map(\.id) == ["4", "6"])
    }

    /// Servers may choose any names for versions.
    @Test(arguments: [("a", "b"), ("99999999999999999998", "99999999999999999999"), ("9", "b")])
    func aNewerBackupIsNotDeletedWhateverItsName(old: String, new: String) throws {
        try alice.makeBackup()
        server.backups.rename("1", to: old)
        try alice.checkBackup()
        try alice.turn { try $0.deleteBackup(&$1) }
        for request in try alice.turn({ try $0.requests(&$1) }) {
            let answer = try server.answer(request, from: alice.address)
            try alice.turn { try $0.answered(request.id, answer, &$1) }
        }
        server.backups.add(object { $0.add("algorithm", "m.megolm_backup.v1.curve25519-aes-sha2") })
        server.backups.rename("2", to: new)
        try alice.pump()
        #expect(server.backups.versions.map(\.id) == [new])
        try alice.restart()
        try alice.pump()
        #expect(server.backups.versions.map(\.id) == [new])
    }

    @Test func thoseBeforeItAreDeletedWhateverTheLengthOfTheirNumbers() throws {
        for _ in 0..<3 { try alice.makeBackup(isReplacement: true) }
        for (id, name) in [("1", "9"), ("2", "99999999999999999999"), ("3", "100000000000000000000")] {
            server.backups.rename(id, to: name)
        }
        try alice.checkBackup()
        try alice.turn { try $0.deleteBackup(&$1) }
        try alice.pump()
        #expect(server.backups.versions.isEmpty)
    }

    /// The pending check may return an outdated answer.
    @Test func aCheckThatIsWishedDuringAnotherIsMadeAfterIt() throws {
        try alice.makeBackup()
        try alice.turn { machine, _ in machine.checkBackup() }
        let first = try #require(
            try alice.turn { try $0.requests(&$1) }.first { $0.call == .checkBackup })
        let old = try server.answer(first, from: alice.address)
        let second = try alice.second()
        try alice.verify(second)
        try second.makeBackup(isReplacement: true)
        try alice.turn { machine, _ in machine.checkBackup() }
        try alice.turn { try $0.answered(first.id, old, &$1) }
        #expect(try alice.turn { try $0.isBackupChanging(&$1) })
        try alice.pump()
        #expect(try alice.turn { try $0.backupVersion(&$1) }?.version == "2")
        #expect(try alice.turn { try !$0.isBackupChanging(&$1) })
    }

    @Test(.rule("R34")) func whatTheUserHasDeletedIsNotWrittenToAgain() throws {
        try alice.makeBackup()
        let old = server.backups.versions[0].content
        try alice.turn { try $0.deleteBackup(&$1) }
        try alice.pump()
        _ = try alice.makeSessions(1)
        server.backups.add(old)  // correctly signed
        try alice.checkBackup()
        try backUp(alice)
        #expect(try alice.backupState == .untrusted(version: "2"))
        #expect(uploads() == 0)
        try alice.makeBackup(isReplacement: true)
        #expect(try alice.backupState == .ready(version: "3"))
        #expect(uploads() == 1)
    }

    @Test func aServerThatNamesNoVersionIsNotAskedWithoutEnd() throws {
        server.tamper = { request, answer in request.call == .makeBackup ? object { _ in } : answer }
        try alice.makeBackup()
        #expect(server.backups.versions.count == 1)
        #expect(alice.machine.nextRetry == alice.now + 15_000)
        server.tamper = { $1 }
        alice.now += 15_000
        try alice.pump()
        #expect(try alice.backupState == .ready(version: "2"))
    }

    @Test func nobodyElseDeletesIt() throws {
        try alice.makeBackup()
        let second = try alice.second()
        try second.checkBackup()
        for device in [alice, second] {
            try backUp(device)
            try device.sync()
        }
        #expect(!server.requests.contains { if case .deleteBackup = $0.call { true } else { false } })
    }
}
