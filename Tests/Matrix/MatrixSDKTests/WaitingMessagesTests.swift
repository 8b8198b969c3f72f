import Basics
import EncryptionTestSupport
import Foundation
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

/// Ten thousand messages that are waiting for one key.
@Suite(.timeLimit(.minutes(5)))
struct WaitingMessagesTests {
    private static let count = 10_000

    /// When it arrives, reading them costs about as much as reading them at once, and the room changes once.
    @Test func theyAreReadInOneBatch() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            try world.bob.encryptRoom(
                "!r:s", #"{"algorithm":"m.megolm.v1.aes-sha2","rotation_period_msgs":10000}"#)
        }
        let readAtOnce = try await seconds {
            let last = try scene.home.with { try Self.sayMuch("direct", in: &$0, keepsKey: false).last }
            #expect(await scene.hears(last, "direct"))
        }

        let (last, key) = try scene.home.with { try Self.sayMuch("waiting", in: &$0, keepsKey: true) }
        #expect(await scene.hears(last, .unknownSession))
        try await scene.isUpToDate()
        let changes = Lock(0)
        let observer = NotificationCenter.default.addObserver(
            forName: .mxRoomSummaryDidChange, object: scene.session, queue: nil
        ) { _ in changes.withLock { $0 += 1 } }
        defer { NotificationCenter.default.removeObserver(observer) }
        let readLater = try await seconds {
            try scene.home.with { world in
                for message in key { world.keys.inject(message, to: LyingHomeserver.client) }
            }
            #expect(await scene.hears(last, "waiting"))
        }
        #expect(readLater < 3 * readAtOnce, "\(readLater) s, at once \(readAtOnce) s")
        #expect(await eventually { changes.withLock { $0 } == 1 })
    }

    /// - Parameter keepsKey: Whether the key is returned instead of being given to the client.
    private static func sayMuch(
        _ text: String, in world: inout LyingHomeserver.World, keepsKey: Bool
    ) throws -> (last: String, key: [JSONView]) {
        try world.bob.turn { try $0.discardSession(of: "!r:s", &$1) }
        let before = world.keys.messages(to: LyingHomeserver.client).count
        var last = world.tell(try world.say(text, by: world.bob))
        let key = Array(world.keys.messages(to: LyingHomeserver.client).dropFirst(before))
        if keepsKey { world.keys.devices[LyingHomeserver.client]?.messages.removeLast(key.count) }
        let contents = try world.bob.turn { machine, turn in
            try (1..<count).map { _ in
                try machine.encrypt("m.room.message", object { $0.add("body", text) }, for: "!r:s", &turn)
            }
        }
        for content in contents { last = world.tell("m.room.encrypted", from: "@b:s", content) }
        return (last, key)
    }

    private func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        try await work()
        return (clock.now - start) / .seconds(1)
    }
}
