import Basics
import EncryptionTestSupport
import Foundation
import JSONBytes
import MatrixEncryption
import MatrixTestSupport
import TestSupport
import Testing

/// `matrix recovery`, and other uses of its key.
@Suite(.overSockets)
struct MatrixRecoveryTests {
    private static let naming = "m.secret_storage.default_key"

    /// - Returns: The recovery key.
    private func created(_ scene: EncryptedCommandScene) async throws -> String {
        let created = try await scene.scene.matrix("recovery", "create")
        #expect(created.status == 0, "\(created.run.errors)")
        return try #require(created.run.output.last)
    }

    /// Whether a new device gets all secrets with one of the keys.
    private func opens(_ keys: [String], _ scene: EncryptedCommandScene) throws -> Bool {
        try scene.home.with { world in
            let device = try TestDevice("@a:s", "NEW\(keys.count)", on: world.keys)
            try device.know("@a:s")
            try device.turn { machine, _ in machine.checkBackup() }
            try device.pump()
            return try keys.contains { key in
                guard let storage = try? RecoveryStorageKey(opening: { world.accountData[$0] }, with: key) else {
                    return false
                }
                return try device.turn { machine, turn in
                    try machine.takeSecrets(from: { world.accountData[$0] }, with: storage, &turn).taken.count == 4
                }
            }
        }
    }

    @Test(arguments: [nil, "/dev/full"]) func aKeyThatCannotBePrintedIsNotUsed(output: String?) async throws {
        let scene = try await EncryptedCommandScene()
        let run = try scene.scene.run(
            ["matrix", "recovery", "create"], closesOutput: output == nil, outputFile: output)
        #expect(await run.status() == 74)
        #expect(run.errors.contains("error: the recovery key could not be printed: no recovery was set up"))
        #expect(try scene.home.with { $0.accountData.isEmpty })
        // The next one works.
        let key = try await created(scene)
        #expect(try opens([key], scene))
    }

    @Test func anOutageWhileTheKeyIsNamedDoesNotLoseIt() async throws {
        let scene = try await EncryptedCommandScene()
        let server = scene.scene.server
        server.on("PUT", "v3/user/*/account_data/\(Self.naming)") { [home = scene.home, server] request in
            try? home.with { $0.accountData[Self.naming] = request.json }
            server.setGate { _ in .drop }
            return .drop
        }
        let created = try await scene.scene.matrix("recovery", "create")
        #expect(created.status == 69)
        #expect(created.run.errors.last?.contains("nobody knows whether the recovery key above is in use") == true)
        let key = try #require(created.run.output.last)
        #expect(try opens([key], scene))
    }

    /// Of ten writes, the process dies before or after the homeserver has stored one.
    @Test(arguments: 1...10, [false, true])
    func oneOfTheKeysThatTheUserHasOpensEverything(killedAt number: Int, isStored: Bool) async throws {
        let scene = try await EncryptedCommandScene()
        let former = try await created(scene)
        let (count, victim) = (Lock(0), Lock<CommandRun?>(nil))
        scene.scene.server.on("PUT", "v3/user/*/account_data/*") { [home = scene.home] request in
            let isLast = count.withLock { count in
                count += 1
                return count == number
            }
            if isLast { victim.withLock { $0?.signal(SIGKILL) } }
            if !isLast || isStored { try? home.with { $0.accountData[request.path[6]] = request.json } }
            return isLast ? .silence : .ok
        }
        let run = try scene.scene.run(["matrix", "recovery", "create", "--force"])
        victim.withLock { $0 = run }
        #expect(await run.status() == 128 + SIGKILL)
        #expect(count.withLock { $0 } == number)
        #expect(run.output.count == 1)
        #expect(try opens([former] + run.output, scene))
    }

    @Test func aResetReplacesIdentityAndBackup_andTheFormerKeyIsVoid() async throws {
        let scene = try await EncryptedCommandScene()
        let former = try await created(scene)
        func masterKey() throws -> JSONView? {
            try scene.home.with { $0.keys.identities["@a:s"]?["master_keys"]?["keys"]?.detached }
        }
        let identity = try masterKey()
        let refused = try await scene.scene.matrix("recovery", "create")
        #expect(refused.status == 65)
        let reset = try await scene.scene.matrix("recovery", "create", "--reset")
        #expect(reset.status == 0, "\(reset.run.errors)")
        let key = try #require(reset.run.output.last)
        #expect(key != former)
        #expect(try identity != nil && masterKey() != identity)
        #expect(try !opens([former], scene))
        #expect(try opens([key], scene))
        let status = try await scene.scene.matrix("recovery", "status", "--json")
        let record = try #require(status.run.objects.first)
        #expect(record["device"] as? String == "verified" && record["backup"] as? String == "in use", "\(record)")
        #expect(record["backup_version"] as? String == "2")
    }

    // MARK: Warnings

    @Test func aBackupThatTheRecoveryKeyDoesNotOpenIsWarnedOf() async throws {
        let scene = try await EncryptedCommandScene()
        let warning = """
            warning: the recovery key does not open this backup: pusher-cli matrix recovery create --force makes one that \
            does
            """
        let first = try await scene.scene.matrix("keys", "backup", "--create")
        #expect(first.status == 0 && !first.run.errors.contains(warning))
        _ = try await created(scene)
        let second = try await scene.scene.matrix("keys", "backup", "--create", "--force")
        #expect(second.status == 0)
        #expect(second.run.errors.contains(warning), "\(second.run.errors)")
    }

    @Test func aPassphraseThatCouldBeGuessedIsWarnedOf() async throws {
        let scene = try await EncryptedCommandScene()
        let warning = """
            warning: whoever runs the homeserver could guess the passphrase of this recovery, whose key is made in too few \
            rounds: pusher-cli matrix recovery create --force makes a new one
            """
        let key = try await created(scene)
        let strong = try await scene.scene.matrix("recovery", "use", "--key-stdin", input: key)
        #expect(strong.status == 0 && !strong.run.errors.contains(warning), "\(strong.run.errors)")
        try scene.home.with { world in
            let id = try #require(world.accountData[Self.naming]?["key"]?.string)
            let type = "m.secret_storage.key.\(id)"
            let description = try #require(world.accountData[type])
            world.accountData[type] = object { writer in
                for (name, value) in description.members { writer.add(name, value) }
                writer.add("passphrase", json: #"{"algorithm":"m.pbkdf2","salt":"s","iterations":99999}"#)
            }
        }
        let weak = try await scene.scene.matrix("recovery", "use", "--key-stdin", input: key)
        #expect(weak.status == 0)
        #expect(weak.run.errors.contains(warning), "\(weak.run.errors)")
    }
}
