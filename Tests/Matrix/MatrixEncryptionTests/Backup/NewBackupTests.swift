import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// A new backup that the server does not create at once.
@Suite struct NewBackupTests {
    private let server = KeyServer()
    private let alice: TestDevice

    init() throws {
        alice = try TestDevice("@alice:s", "A", on: server)
        try alice.makeIdentity()
        try alice.checkBackup()
    }

    /// Adds another device's backup, made while the server did not answer this one.
    private func addBackup() {
        let authData = KeyBackupAuthData(publicKey: Curve25519KeyPair(random: .system).publicKey)
        server.backups.add(
            object { writer in
                writer.add("algorithm", KeyBackup.algorithm)
                writer.add("auth_data", authData.json)
            })
    }

    private func pumpLater() throws {
        alice.now += 600_000
        try alice.pump()
    }

    @Test(arguments: [true, false]) func theWishEndsIfThereIsAnotherMeanwhile(restarts: Bool) throws {
        server.backups.isFailing = true
        try alice.turn { try $0.makeBackup(isReplacement: false, &$1) }
        try alice.pump()
        addBackup()
        server.backups.isFailing = false
        if restarts { try alice.restart() }
        alice.takeNotices()
        try pumpLater()
        try pumpLater()
        #expect(server.backups.versions.count == 1)
        #expect(alice.notices.contains(.backupRefused))
        #expect(try alice.backupState == .untrusted(version: "1"))
        #expect(try alice.turn { try !$0.isBackupChanging(&$1) })
    }

    @Test func aReplacementIsMadeNevertheless() throws {
        server.backups.isFailing = true
        try alice.turn { try $0.makeBackup(isReplacement: true, &$1) }
        try alice.pump()
        addBackup()
        server.backups.isFailing = false
        try pumpLater()
        try pumpLater()
        #expect(try alice.backupState == .ready(version: "2"))
    }

    @Test func anAnswerThatWasLostIsMadeUpFor() throws {
        try alice.turn { try $0.makeBackup(isReplacement: false, &$1) }
        let requests = try alice.turn { try $0.requests(&$1) }
        let making = try #require(requests.first { $0.call == .makeBackup })
        _ = try server.answer(making, from: alice.address)
        try alice.turn { try $0.failed(making.id, isFinal: false, &$1) }
        try pumpLater()
        try pumpLater()
        #expect(server.backups.versions.count == 1)
        #expect(try alice.backupState == .ready(version: "1"))
        #expect(try alice.turn { try $0.hasBackupKey(&$1) })
        _ = try alice.makeSessions(1)
        try pumpLater()
        #expect(server.backups.versions.first?.count == 1)
    }
}
