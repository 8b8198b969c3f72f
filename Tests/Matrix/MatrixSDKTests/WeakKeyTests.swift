import EncryptionTestSupport
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixEncryption

/// Keys that would make the secret public, signed by their owner, and secrets that the homeserver swaps.
@Suite(.overSockets)
struct WeakKeyTests {
    private static let zero = [UInt8](repeating: 0, count: 32)

    /// Eve's device has only this key, which it has signed.
    @Test(.rule("R1")) func aOneTimeKeyOfLowOrderOpensNoChannel_andOthersReadOn() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            let eve = world.eve.machine
            let key = try Curve25519PublicKey(base64: UnpaddedBase64.encode(Self.zero))
            let signed = try SignedOneTimeKey.json(
                key, isFallback: true, userID: eve.me.user, deviceID: eve.me.device, fingerprint: eve.account.ed25519)
            world.keys.loseKeys(of: eve.me)
            world.keys.devices[eve.me]?.fallbackKey = ("signed_curve25519:AAAAAAAAAAA", signed)
            world.setMember("@e:s")
        }
        try await scene.isUpToDate()
        let id = try await scene.room.sendTextMessage("for Bob")
        #expect(try scene.reads(id) { $0.bob } == "for Bob")
        #expect(await eventually { scene.home.types(to: DeviceAddress("@e:s", "EVE")) == ["m.room_key.withheld"] })
    }

    /// Anyone could sign for such a device.
    @Test(.rule("R1")) func aDeviceWithAFingerprintOfLowOrderDoesNotExist() async throws {
        let scene = try await EncryptedScene()
        let key = UnpaddedBase64.encode([1] + Self.zero.dropLast())
        try scene.home.with { world in
            let old = try #require(world.keys.devices[world.eve.address]?.keys)
            world.keys.devices[world.eve.address]?.keys = old.with(["keys", "ed25519:EVE"], .string(key))
                .with(
                    ["signatures", "@e:s", "ed25519:EVE"],
                    .string(UnpaddedBase64.encode([1] + [UInt8](repeating: 0, count: 63))))
            world.keys.noteChange(of: "@e:s")
            world.setMember("@e:s")
        }
        try await scene.isUpToDate()
        let id = try await scene.room.sendTextMessage("for Bob")
        #expect(try scene.reads(id) { $0.bob } == "for Bob")
        #expect(try scene.crypto.devices(forUser: "@e:s").isEmpty)
        #expect(scene.home.types(to: DeviceAddress("@e:s", "EVE")).isEmpty)
    }

    /// A secret under another one's name, and one that was changed where nothing authenticates it.
    @Test(.rule("R30")) func secretsThatTheHomeserverMixesUpAreRefused() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let service = try scene.crypto.recoveryService
        let key = try await service.createRecovery()
        #expect(try await service.recoverSecrets(with: key).refused.isEmpty)
        let (selfSigning, userSigning) = ("m.cross_signing.self_signing", "m.cross_signing.user_signing")
        try scene.home.with { world in
            world.accountData[selfSigning] = world.accountData[userSigning]
            let secret = try #require(world.accountData[userSigning])
            let id = try #require(secret["encrypted"]?.members.first?.key)
            var iv = try UnpaddedBase64.decode(secret["encrypted"]?[id]?["iv"]?.string ?? "")
            iv[0] ^= 1
            world.accountData[userSigning] = secret.with(["encrypted", id, "iv"], .string(UnpaddedBase64.encode(iv)))
        }
        let result = try await service.recoverSecrets(with: key)
        #expect(result.refused.sorted() == [selfSigning, userSigning])
        #expect(result.recovered == ["m.cross_signing.master"])
        #expect(try scene.crypto.trustLevel(forUser: "@b:s").isVerified)
    }
}
