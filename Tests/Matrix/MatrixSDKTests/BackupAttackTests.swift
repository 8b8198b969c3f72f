import Basics
import EncryptionTestSupport
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Attacks of a homeserver on the data that it stores for the user, backups and recovery, and how the whole client
/// reacts.
@Suite(.overSockets)
struct BackupAttackTests {
    /// A session with a backup that contains the key of Bob's message.
    private func scene() async throws -> EncryptedScene {
        let scene = try await EncryptedScene(hasIdentity: true)
        try await scene.crypto.backup.createKeyBackupVersion()
        _ = try await scene.bobSays("kept")
        try await scene.crypto.backup.backupAllGroupSessions()
        #expect(try scene.home.with { $0.keys.backups.versions.last?.count } == 1)
        return scene
    }

    /// A backup that the server made with keys of its own, under the same version.
    @Test(.rule("R34")) func aBackupWithAnotherKeyUnderTheSameVersionGivesAndGetsNothing() async throws {
        let scene = try await scene()
        let forged = OutboundGroupSession(random: .system)
        try scene.home.with { world in
            let pair = Curve25519KeyPair(random: .system)
            let key = object { $0.add("k", pair.publicKey.base64) }["k"]
            let old = world.keys.backups.versions[0].content
            world.keys.backups.versions[0].content = old.with(["auth_data", "public_key"], key)
            let junk = object { $0.add("session_data", object { $0.add("ciphertext", "AAAA") }) }
            world.keys.backups.versions[0].rooms = ["!r:s": [forged.id: junk]]
        }
        try await scene.crypto.backup.refreshState()
        #expect(try scene.crypto.backup.state == .notTrusted(version: "1"))
        await #expect(throws: MatrixError.self) { try await scene.crypto.backup.restore() }
        #expect(try scene.crypto.backup.hasPrivateKey == false)
        let uploads = scene.home.server.requests("PUT", "v3/room_keys/keys").count
        let later = try scene.home.with { world in
            try world.bob.turn { try $0.discardSession(of: "!r:s", &$1) }
            return try world.say("not for it", by: world.bob)
        }
        try scene.home.with { world in _ = world.tell(later) }
        #expect(await scene.hears(later.eventId, "not for it"))
        await #expect(throws: MatrixError.self) { try await scene.crypto.backup.backupAllGroupSessions() }
        #expect(scene.home.server.requests("PUT", "v3/room_keys/keys").count == uploads)
    }

    /// Another backup replaces it between the version check and the download.
    @Test(.rule("R34")) func aBackupThatIsSwappedDuringARestorationBringsNothing() async throws {
        let scene = try await scene()
        let forged = OutboundGroupSession(random: .system)
        try scene.home.with { world in
            world.keys.tamper = { [backups = world.keys.backups] request, answer in
                guard case .downloadRoomKeys = request.call, let old = backups.versions.first else { return answer }
                let stolen = old.rooms["!r:s"]?.values.first ?? .nothing
                return object { writer in
                    writer.add(
                        "rooms",
                        object { $0.add("!r:s", object { $0.add("sessions", object { $0.add(forged.id, stolen) }) }) })
                }
            }
        }
        let restoration = try await scene.crypto.backup.restore()
        #expect(restoration.imported == 0 && restoration.damaged == 1)
    }

    /// This client lacks the new backup's key.
    @Test(.rule("R34")) func aRestorationEndsWhenAnotherBackupTakesThePlaceOfTheFirst() async throws {
        let scene = try await scene()
        let backup = try scene.crypto.backup
        try scene.home.with { world in
            let old = try #require(world.keys.backups.versions.last?.content)
            let key = Curve25519KeyPair(random: .system).publicKey.base64
            world.swapsBackupOnDownload = old.with(["auth_data", "public_key"], .string(key))
        }
        await #expect(throws: MatrixError.self) { try await backup.restore() }
        #expect(backup.state == .notTrusted(version: "2"))
        #expect(try scene.home.with { world in world.keys.backups.versions.last?.count } == 0)
    }

    // MARK: Recovery

    /// The answer to a request is lost after the new key was stored as the default.
    @Test func aRecoveryKeyThatWasNamedIsReturned_whateverFailsThen() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let server = scene.home.server
        let named = "m.secret_storage.default_key"
        server.on("PUT", "v3/user/*/account_data/\(named)") { [home = scene.home] request in
            try? home.with { $0.accountData[named] = request.json }
            return .error(400, "M_UNKNOWN")
        }
        let key = try await scene.crypto.recoveryService.createRecovery()
        let result = try await scene.crypto.recoveryService.recoverSecrets(with: key)
        #expect(result.recovered.contains("m.cross_signing.master") && result.refused.isEmpty)
    }

    /// The user cancels while the server stores it.
    @Test func aRecoveryThatIsGivenUpInTheMiddleReturnsItsKey() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let named = "m.secret_storage.default_key"
        let service = try scene.crypto.recoveryService
        let begun = Lock<Task<String, any Error>?>(nil)
        scene.home.server.on("PUT", "v3/user/*/account_data/\(named)") { [home = scene.home] request in
            try? home.with { $0.accountData[named] = request.json }
            begun.withLock { $0?.cancel() }
            return .error(400, "M_UNKNOWN")
        }
        let task = begun.withLock { begun in
            let task = Task { try await service.createRecovery() }
            begun = task
            return task
        }
        let key = try await task.value
        #expect(try await service.recoverSecrets(with: key).refused.isEmpty)
    }

    /// A key that was not stored as the default decrypts nothing, and must not be written down.
    @Test func aRecoveryKeyThatWasNotNamedIsNotReturned() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        scene.home.server.on("PUT", "v3/user/*/account_data/m.secret_storage.default_key", .error(400, "M_UNKNOWN"))
        await #expect(throws: (any Error).self) { try await scene.crypto.recoveryService.createRecovery() }
        #expect(try await scene.crypto.recoveryService.status() == .none)
    }
}
