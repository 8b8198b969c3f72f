import EncryptionTestSupport
import Foundation
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing

/// The callback forms of encryption return the same results as the others, once each, on the session's queue.
@Suite(.overSockets)
struct CryptoCallbackTests {
    /// The result of a call with a callback. A second callback would end the process.
    private func value<Value: Sendable>(
        _ start: (@escaping (MXResponse<Value>) -> Void) throws -> MXHTTPOperation
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try start { continuation.resume(with: $0) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test func messagesAndKeys() async throws {
        let scene = try await EncryptedScene()
        let (crypto, room) = (try scene.crypto, try scene.room)
        try await value { crypto.ensureEncryption(inRoom: "!r:s", completion: $0) }
        let content: JSONView = try await value {
            crypto.encryptEventContent(
                ["msgtype": "m.text", "body": "x"], withType: .roomMessage, in: room, completion: $0)
        }
        #expect(content["algorithm"]?.string == Algorithm.megolm)
        await #expect(throws: (any Error).self) {
            let _: JSONView = try await value {
                crypto.encryptEventContent(["body": Data()], withType: .roomMessage, in: room, completion: $0)
            }
        }
        let said = try await scene.bobSays("said")
        let heard = try #require(scene.heard(said.eventId))
        let read: [MXEvent] = try await value { crypto.decryptEvents([heard], inTimeline: nil, completion: $0) }
        #expect(read.map { $0.contentJSON["body"]?.string } == ["said"])
        let file: Data = try await value { crypto.exportRoomKeys(withPassword: "a password", completion: $0) }
        #expect(!file.isEmpty)
        let counts: (total: Int, imported: Int) = try await value {
            crypto.importRoomKeys(file, withPassword: "a password", completion: $0)
        }
        #expect(counts.total >= 1 && counts.imported == 0)
        await #expect(throws: (any Error).self) {
            let _: (total: Int, imported: Int) = try await value {
                crypto.importRoomKeys(file, withPassword: "another", completion: $0)
            }
        }
    }

    @Test func devicesAndIdentities() async throws {
        let scene = try await EncryptedScene()
        let crypto = try scene.crypto
        let step: MXInteractiveStep<Bool> = try await value { crypto.crossSigning.setup(completion: $0) }
        #expect(step.value == true)
        let state: MXCrossSigning.State = try await value { crypto.crossSigning.refreshState(completion: $0) }
        #expect(state == .canCrossSign)
        try await value { crypto.downloadKeys(["@b:s"], forceDownload: true, completion: $0) }
        let summary: MXUsersTrustLevelSummary = try await value {
            crypto.trustLevelSummary(forUserIds: ["@b:s"], completion: $0)
        }
        #expect(summary.users == 1 && summary.trustedUsers == 0)
        let verification: MXKeyVerification = try await value {
            crypto.keyVerificationManager.requestVerificationByToDevice(
                withUserId: "@b:s", deviceId: "BOB", completion: $0)
        }
        #expect(!verification.isIncoming)
        await #expect(throws: (any Error).self) {
            let _: MXKeyVerification = try await value {
                crypto.keyVerificationManager.requestVerificationByToDevice(
                    withUserId: "@b:s", deviceId: "NONE", completion: $0)
            }
        }
        await #expect(throws: (any Error).self) {
            let _: MXKeyVerification = try await value {
                crypto.keyVerificationManager.beginKeyVerification(withUserId: "@e:s", deviceId: "X", completion: $0)
            }
        }
        try await value {
            crypto.keyVerificationManager.requestVerificationByDM(withUserId: "@b:s", roomId: "!r:s", completion: $0)
        }
    }

    @Test func backupAndRecovery() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let (backup, recovery) = (try scene.crypto.backup, try scene.crypto.recoveryService)
        let before: MXRecoveryService.Status = try await value { recovery.status(completion: $0) }
        #expect(before == .none)
        let version: String = try await value { backup.createKeyBackupVersion(completion: $0) }
        #expect(backup.state == .readyToBackUp(version: version))
        _ = try await scene.bobSays("kept")
        try await value { backup.backupAllGroupSessions(completion: $0) }
        #expect(try scene.home.with { $0.keys.backups.versions.last?.count } == 1)
        let restored: MXKeyBackup.Restoration = try await value { backup.restore(completion: $0) }
        #expect(restored.total == 1 && restored.imported == 0)
        let key: String = try await value { recovery.createRecovery(completion: $0) }
        let after: MXRecoveryService.Status = try await value { recovery.status(completion: $0) }
        #expect(after == .available(usesPassphrase: false, isWeak: false))
        let result: MXRecoveryService.Result = try await value { recovery.recoverSecrets(with: key, completion: $0) }
        #expect(result.recovered.count == 4 && result.refused.isEmpty)
        await #expect(throws: (any Error).self) {
            let _: String = try await value { recovery.createRecovery(completion: $0) }
        }
        try await value { backup.refreshState(completion: $0) }
        try await value { backup.deleteKeyBackupVersion(completion: $0) }
        #expect(backup.state == .disabled)
    }
}
