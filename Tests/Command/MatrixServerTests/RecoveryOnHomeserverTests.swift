import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// Keys that outlive a device: backup, secret storage and the recovery key.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct RecoveryOnHomeserverTests {
    private func setUp(_ user: EncryptedUser) async throws -> MXCrypto {
        let crypto = try #require(try user.session.crypto)
        let step = try await crypto.crossSigning.setup()
        _ = try await step.completed { _ in .password(user.user.password, userId: user.user.id) }
        #expect(crypto.crossSigning.state == .canCrossSign)
        return crypto
    }

    @Test(arguments: [nil, "correct horse, battery"]) func aNewDeviceReadsWhatWasSaidBefore(
        passphrase: String?
    ) async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedUser("bob", on: homeserver)
        )
        let crypto = try await setUp(ann)
        try await crypto.backup.refreshState()
        #expect(crypto.backup.state == .disabled)
        await #expect(throws: MatrixError.self) { try await crypto.backup.restore() }
        let room = try await bob.makeRoom(inviting: ann.user.id)
        _ = try await ann.join(room.roomId)
        let id = try await room.sendTextMessage("said before")
        #expect(await ann.hears(id, "said before"))

        let version = try await crypto.backup.createKeyBackupVersion()
        #expect(crypto.backup.state == .readyToBackUp(version: version))
        await #expect(throws: MatrixError.self) { try await crypto.backup.createKeyBackupVersion() }
        let key = try await crypto.recoveryService.createRecovery(withPassphrase: passphrase)
        await #expect(throws: MatrixError.self) { try await crypto.recoveryService.createRecovery() }
        try await crypto.backup.backupAllGroupSessions()
        #expect(crypto.backup.keysToBackUp == 0)

        let second = try await EncryptedUser("ann", on: homeserver, as: ann.user)
        let new = try #require(try second.session.crypto)
        try await new.backup.refreshState()
        #expect(new.backup.state == .notTrusted(version: version))
        #expect(second.event(id)?.decryptionError != nil || second.event(id) == nil)
        await #expect(throws: MatrixError.self) { try await new.recoveryService.recoverSecrets(with: "wrong") }
        #expect(
            try await new.recoveryService.status() == .available(usesPassphrase: passphrase != nil, isWeak: false))
        let result = try await new.recoveryService.recoverSecrets(with: passphrase ?? key)
        #expect(result.recovered.count == 4 && result.refused.isEmpty)
        #expect(new.crossSigning.state == .canCrossSign)
        let restoration = try await new.backup.restore()
        // Keys of waiting messages have already been fetched one by one.
        #expect(restoration.total > 0 && restoration.damaged == 0)
        let session = try second.session
        let read = try await session.matrixRestClient.event(withId: id, inRoom: room.roomId)
        #expect(try session.decrypted([read], in: room.roomId).first?.contentJSON["body"]?.string == "said before")
        // The first device sees that the second one is verified.
        try await crypto.downloadKeys([ann.user.id], forceDownload: true)
        let device = try #require(new.deviceEd25519Key)
        #expect(
            await eventually {
                (try? crypto.devices(forUser: ann.user.id))?.first { $0.fingerprint == device }?.verification
                    == .verified
            })

        // A new backup invalidates the stored key, and a new recovery stores the new one.
        let next = try await new.backup.createKeyBackupVersion(isReplacement: true)
        #expect(next != version)
        let nextKey = try await new.recoveryService.createRecovery(isReplacement: true)
        await #expect(throws: MatrixError.self) { try await crypto.recoveryService.recoverSecrets(with: key) }
        #expect(try await crypto.recoveryService.recoverSecrets(with: nextKey).recovered.count == 4)
        try await crypto.backup.deleteKeyBackupVersion()
        #expect(crypto.backup.state == .disabled)
    }

    @Test func theCommandSetsRecoveryUp_andUsesItOnANewDevice() async throws {
        let homeserver = try Homeserver(.plain)
        let bob = try await EncryptedUser("bob", on: homeserver)
        let ann = try await CommandUser("ann", on: homeserver)
        let room = try await bob.makeRoom(inviting: ann.user.id)
        #expect(try await ann.output("join", room.roomId) == [room.roomId])
        _ = try await ann.output("send", room.roomId, "hello bob")
        #expect(await eventually { room.summary.joinedMembersCount == 2 })
        _ = try await room.sendTextMessage("said before")
        #expect(try await ann.output("messages", room.roomId).contains { $0.contains("said before") })

        #expect(try await ann.status()["recovery"] as? String == "none")
        let created = try await ann.command("recovery", "create", "--password-stdin").run(reading: ann.user.password)
        #expect(created.status == 0)
        let key = try #require(created.output.first)
        #expect(key.hasPrefix("Es"))
        #expect(try await ann.command("recovery", "create").run().status == 65)
        let status = try await ann.status()
        #expect(status["device"] as? String == "verified")
        #expect(status["backup"] as? String == "in use")
        #expect(status["recovery"] as? String == "by recovery key")
        #expect(try await ann.output("keys", "backup") == ["backup version 1: all keys are in it"])

        let new = try await CommandUser("ann", on: homeserver, as: ann.user)
        #expect(try await !new.output("messages", room.roomId).contains { $0.contains("said before") })
        #expect(try await new.command("keys", "backup").run().status == 77)
        #expect(try await new.command("recovery", "create").run().status == 65)
        #expect(try await new.command("recovery", "use", "--key-stdin").run(reading: "EsTn wrong\n").status == 65)
        let used = try await new.command("recovery", "use", "--key-stdin").run(reading: key + "\n")
        #expect(used.status == 0 && used.output.first == "this device is verified")
        #expect(try await new.output("messages", room.roomId).contains { $0.contains("said before") })
        let restored = try await new.output("keys", "restore")
        #expect(restored.first?.hasPrefix("0 of ") == true)
        #expect(try await new.output("keys", "backup", "--delete").count == 1)
        #expect(try await new.command("keys", "restore").run().status == 65)
    }
}
