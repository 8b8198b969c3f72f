import Foundation
import MatrixSDK
import TestSupport
import Testing

/// Verification by emoji with matrix-nio on libolm, which does not support requests.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct VerificationWithPeerTests {
    @Test(arguments: [true, false]) func eitherSideMayStart(isStartedByPeer: Bool) async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await EncryptedUser("ann", on: homeserver)
        let nio = try await EncryptedPeer("nio", on: homeserver, kind: .libolm)
        let room = try await ann.makeRoom(inviting: nio.user.id)
        try await nio.perform("join", room.roomId)
        // From then on, they know each other's devices.
        #expect(await ann.hears(try await nio.send("hello", to: room.roomId), "hello"))
        #expect(await nio.hears(try await room.sendTextMessage("hello, too"), "hello, too"))

        let crypto = try #require(try ann.session.crypto)
        let (manager, device) = (crypto.keyVerificationManager, try nio.deviceId)
        let changes = manager.changes()
        if isStartedByPeer {
            try await nio.perform("compare", ann.user.id, try ann.deviceId)
        } else {
            _ = try await manager.beginKeyVerification(withUserId: nio.user.id, deviceId: device)
        }
        changes: for await change in changes {
            switch change.state {
            case .requested: try change.accept()
            case .comparing(let shown, let decimals, isConfirmed: false):
                #expect(shown.count == 7 && decimals.count == 3)
                #expect(await nio.compares(shown.map(\.emoji), decimals))
                try change.confirmSASMatch()
            case .verified, .done: break changes
            case .cancelled(let reason, _):
                Issue.record("cancelled: \(reason)")
                break changes
            default: break
            }
        }
        #expect(await nio.verifies())
        #expect(try crypto.device(withDeviceId: device, ofUser: nio.user.id)?.verification == .verified)
    }
}
