import Basics
import EncryptionTestSupport
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixEncryption

/// Attacks of a homeserver while two users verify each other, and how the whole client reacts.
@Suite(.overSockets)
struct VerificationAttackTests {
    private typealias State = MXKeyVerification.State

    /// Messages whose key the homeserver changes in transit.
    private enum Way: Sendable { case none, toBob(key: String), toClient(key: String) }

    /// The client has an identity, and has verified no one.
    private func scene() async throws -> EncryptedScene {
        let scene = try await EncryptedScene()
        guard case .completed = try await scene.crypto.crossSigning.setup() else { throw EncryptionError.state }
        #expect(await eventually { scene.home.hasSignatureOfClient })
        return scene
    }

    private func request(in scene: EncryptedScene) async throws {
        let manager = try scene.crypto.keyVerificationManager
        // Requests that are too old are not accepted.
        try scene.home.with { $0.bob.now = UInt64(Date.now.timeIntervalSince1970 * 1_000) }
        _ = try await manager.requestVerificationByToDevice(withUserId: "@b:s", deviceId: "BOB")
        try scene.home.with { $0.keys.tamper = { $1 } }  // Bob gets the truth about himself
        #expect(try await isReached(in: scene) { if case .ready = $0 { true } else { false } })
    }

    /// Lets Bob accept and continue until the client's verification satisfies `condition`.
    private func isReached(
        in scene: EncryptedScene, swapping way: Way = .none, _ condition: @escaping @Sendable (State) -> Bool
    ) async throws -> Bool {
        let manager = try scene.crypto.keyVerificationManager
        return await eventually {
            try? scene.home.with { world in
                let bob = world.bob
                if case .toBob(let key) = way { world.keys.swapVerificationKey(to: bob.address, key) }
                try bob.sync()
                for verification in bob.machine.verifications
                where verification.direction == .incoming && verification.state == .requested {
                    try bob.turn { try $0.acceptVerification(verification.id, &$1) }
                    try bob.pump()
                }
                if case .toClient(let key) = way { world.keys.swapVerificationKey(to: LyingHomeserver.client, key) }
            }
            return manager.verifications.last.map { condition($0.state) } ?? false
        }
    }

    private func verification(in scene: EncryptedScene) throws -> MXKeyVerification {
        try #require(try scene.crypto.keyVerificationManager.verifications.last)
    }

    private func bobsState(in scene: EncryptedScene) throws -> Verification.State {
        try scene.home.with { world in
            try world.bob.sync()
            return try #require(world.bob.machine.verifications.last).state
        }
    }

    /// Neither side trusts the other, and both know why: the client from a notification.
    private func expectEnd(
        _ code: VerificationCancelCode, byPeer: Bool, in scene: EncryptedScene,
        _ changes: AsyncStream<MXKeyVerification>
    ) async throws {
        #expect(await eventually { (try? bobsState(in: scene)) == .cancelled(code: code, byPeer: !byPeer) })
        let told = Lock<[State]>([])
        let telling = Task { for await change in changes { told.withLock { $0.append(change.state) } } }
        #expect(await eventually { told.withLock { $0.last } == .cancelled(reason: code.reason, byPeer: byPeer) })
        telling.cancel()
        #expect(try !scene.crypto.trustLevel(forUser: "@b:s").isVerified)
        #expect(try scene.home.with { try $0.bob.turn { try !$0.isVerified("@a:s", &$1) } })
    }

    @Test(.rule("R26")) func aSwappedKeyShowsOtherEmoji_andBothSidesAreToldOfTheEnd() async throws {
        let scene = try await scene()
        let changes = try scene.crypto.keyVerificationManager.changes()
        try await request(in: scene)
        try verification(in: scene).startSAS()
        let key = Curve25519KeyPair(random: .system).publicKey.base64
        #expect(
            try await isReached(in: scene, swapping: .toBob(key: key)) {
                if case .comparing = $0 { true } else { false }
            })
        guard case .comparing(let emoji, let decimals, _) = try verification(in: scene).state,
            case .comparing(let bobsEmoji, let bobsDecimals, _) = try bobsState(in: scene)
        else { throw EncryptionError.state }
        #expect(emoji.map(\.name) != bobsEmoji.map(\.name) && decimals != bobsDecimals)
        try verification(in: scene).cancel(isMismatch: true)
        try await expectEnd(.mismatchedSAS, byPeer: false, in: scene, changes)
    }

    /// Accepting commits to a key.
    @Test(.rule("R25")) func aKeyThatIsNotTheOnePromisedEndsIt_andBothSidesAreTold() async throws {
        let scene = try await scene()
        let changes = try scene.crypto.keyVerificationManager.changes()
        try await request(in: scene)
        try verification(in: scene).startSAS()
        let key = Curve25519KeyPair(random: .system).publicKey.base64
        #expect(
            try await isReached(in: scene, swapping: .toClient(key: key)) {
                if case .cancelled = $0 { true } else { false }
            })
        try await expectEnd(.mismatchedCommitment, byPeer: false, in: scene, changes)
    }

    /// Otherwise everyone would know the secret.
    @Test(.rule("R1")) func aKeyOfLowOrderEndsIt_andBothSidesAreTold() async throws {
        let scene = try await scene()
        let changes = try scene.crypto.keyVerificationManager.changes()
        try await request(in: scene)
        try verification(in: scene).startSAS()
        let zero = UnpaddedBase64.encode([UInt8](repeating: 0, count: 32))
        #expect(
            try await isReached(in: scene, swapping: .toBob(key: zero)) {
                if case .cancelled = $0 { true } else { false }
            })
        try await expectEnd(.invalidMessage, byPeer: true, in: scene, changes)
    }

    /// The code contains the client's view of Bob, which comes from the homeserver.
    @Test func aCodeWithAnotherIdentityThanBobsEndsIt_andBothSidesAreTold() async throws {
        let scene = try await scene()
        try scene.home.with { world in
            let impostor = try TestDevice("@b:s", "BOB", on: KeyServer())
            try impostor.makeIdentity()
            let lies = impostor.server.identities["@b:s"] ?? [:]
            world.keys.tamper = { request, answer in
                guard case .queryKeys = request.call else { return answer }
                return ["master_keys", "self_signing_keys"].reduce(answer) { $0.with([$1, "@b:s"], lies[$1]) }
            }
        }
        let changes = try scene.crypto.keyVerificationManager.changes()
        try await request(in: scene)
        guard case .ready(_, _, let code?) = try verification(in: scene).state else { throw EncryptionError.state }
        try scene.home.with { world in
            let id = try #require(world.bob.machine.verifications.last).id
            try world.bob.turn { try $0.scanned(code, id, &$1) }
            try world.bob.pump()
        }
        try await expectEnd(.keyMismatch, byPeer: true, in: scene, changes)
    }
}

extension KeyServer {
    /// Changes the key in verification messages that are pending for a device.
    fileprivate func swapVerificationKey(to address: DeviceAddress, _ key: String) {
        let messages = messages(to: address).map { message in
            guard message["type"]?.string == "m.key.verification.key" else { return message }
            return message.with(["content", "key"], .string(key))
        }
        devices[address]?.messages = messages
    }
}
