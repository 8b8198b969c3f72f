import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Reading the whole backup while the server changes it.
@Suite struct RestorationTests {
    private let server = KeyServer()
    private let alice: TestDevice

    init() throws {
        alice = try TestDevice("@alice:s", "A", on: server)
        try alice.makeIdentity()
        try alice.makeBackup()
    }

    /// Makes a newer version whose key no local device has.
    private func replaceBackup() {
        let key = Curve25519KeyPair(random: .system).publicKey
        let authData = KeyBackupAuthData(publicKey: key)
        server.backups.add(
            object { writer in
                writer.add("algorithm", KeyBackup.algorithm)
                writer.add("auth_data", authData.json)
            })
    }

    private func pumpLater() throws {
        try alice.pump()
        alice.now += 600_000
        try alice.pump()
    }

    /// Otherwise its caller would wait forever.
    @Test(.rule("R34")) func aVersionThatIsReplacedBeforeTheDownloadIsRefused() throws {
        try alice.turn { try $0.restoreBackup(&$1) }
        replaceBackup()
        alice.takeNotices()
        try pumpLater()
        #expect(alice.notices.contains(.backupRefused))
        #expect(try alice.backupState == .untrusted(version: "2"))
        #expect(!alice.machine.backup.isRestoring)
        try pumpLater()
        #expect(server.requests.count { if case .downloadRoomKeys = $0.call { true } else { false } } == 1)
    }

    /// Our replacement is empty.
    @Test func aVersionThatWeReplaceIsRefused() throws {
        server.backups.isFailing = true
        try alice.turn { try $0.restoreBackup(&$1) }
        try alice.pump()
        server.backups.isFailing = false
        alice.takeNotices()
        try alice.makeBackup(isReplacement: true)
        try pumpLater()
        #expect(alice.notices.contains(.backupRefused))
        #expect(!alice.notices.contains { if case .backupRestored = $0 { true } else { false } })
    }

    /// Its key may have leaked.
    @Test(.rule("R34")) func aBackupThatWeHaveReplacedIsNotWrittenToAgain() throws {
        let old = server.backups.versions[0].content
        try alice.makeBackup(isReplacement: true)
        server.backups.add(old)  // correctly signed
        try alice.checkBackup()
        try pumpLater()
        #expect(try alice.backupState == .untrusted(version: "3"))
        #expect(server.backups.versions.last?.count == 0)
    }

    /// A partial restoration does not count.
    @Test func aVersionThatIsReplacedWhileItIsTakenIsRefused() throws {
        let key = try KeyBackupAuthData(server.backups.versions[0].content.value("auth_data")).publicKey
        let sessions = try TestDevice("@bob:s", "B", on: server).makeSessions(11).map { session in
            let data = try KeyBackup.encrypt(session.backupJSON, for: key, random: .system)
            return (session.sessionID, object { $0.add("session_data", data) })
        }
        for room in 0..<300 {
            server.backups.versions[0].rooms["!\(room):s"] = Dictionary(uniqueKeysWithValues: sessions)
        }
        try alice.turn { try $0.restoreBackup(&$1) }
        try alice.pump()
        #expect(alice.machine.backup.download != nil)
        replaceBackup()
        alice.takeNotices()
        try alice.turn { machine, _ in machine.checkBackup() }
        try pumpLater()
        #expect(alice.machine.backup.download == nil && alice.notices.contains(.backupRefused))
        #expect(!alice.notices.contains { if case .backupRestored = $0 { true } else { false } })
    }
}
