import EncryptionTestSupport
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Keys of messages from before an invitation, sent through the homeserver's media.
@Suite(.overSockets)
struct HistoryAttackTests {
    private static let warning = "the keys of earlier messages that were offered cannot be taken"

    /// - Parameter giver: The user who offers the room's keys.
    private func offer(
        in scene: EncryptedScene, size: Int? = nil, by giver: @escaping @Sendable (LyingHomeserver.World) -> TestDevice,
        damage: @escaping @Sendable (inout [UInt8]) -> Void = { _ in }
    ) throws -> EncryptedEvent {
        try scene.home.with { world in
            try world.eve.makeIdentity()
            let event = try world.say("early", by: giver(world), to: ["@b:s", "@e:s"])
            for device in [world.bob, world.eve] { try device.sync() }
            let bundle = try #require(try giver(world).turn { try $0.historyBundle(of: "!r:s", &$1) })
            var encryptor = AttachmentEncryptor(random: .system)
            var bytes = bundle.withUnsafeBytes { Array($0) }
            if let size { bytes += [UInt8](repeating: 0x20, count: size - bytes.count) }
            var ciphertext = encryptor.encrypt(bytes)
            var file = encryptor.finish()
            file.url = "mxc://s/bundle"
            damage(&ciphertext)
            world.media["bundle"] = ciphertext
            let uploaded = file
            try giver(world).turn { try $0.shareHistory(of: "!r:s", file: uploaded, with: "@a:s", &$1) }
            try giver(world).pump()
            return event
        }
    }

    /// Invites the client as Bob, joins, and delivers an earlier message.
    private func join(_ scene: EncryptedScene, _ event: EncryptedEvent) async throws {
        try scene.home.with { $0.invitations["!r:s"] = "@b:s" }
        #expect(await eventually { scene.session.room(withRoomId: "!r:s")?.summary?.membership == .invite })
        try scene.home.with { world in
            world.invitations = [:]
            for user in ["@a:s", "@b:s", "@e:s"] { world.setMember(user) }
            world.setEncryption()
            world.tell(event)
        }
        try await scene.isUpToDate()
    }

    private let bob: @Sendable (LyingHomeserver.World) -> TestDevice = { $0.bob }

    @Test func whoIsInvitedReadsWhatWasSaidBefore() async throws {
        let scene = try await EncryptedScene(hasIdentity: true, isInRoom: false)
        let event = try offer(in: scene, by: bob)
        try await join(scene, event)
        #expect(await scene.hears(event.eventId, "early"))
        #expect(try scene.crypto.shield(of: #require(scene.heard(event.eventId))) == .authenticityNotGuaranteed)
    }

    /// No new login is needed.
    @Test func aBundleThatDoesNotComeIsAskedForAgain() async throws {
        let scene = try await EncryptedScene(hasIdentity: true, isInRoom: false)
        let event = try offer(in: scene, by: bob)
        scene.home.server.setGate { request in
            request.rawPath.contains("/media/download/") ? .error(502, "M_UNKNOWN") : nil
        }
        try await join(scene, event)
        #expect(await eventually { scene.log.contains(Self.warning) })
        scene.home.server.setGate(nil)
        #expect(await scene.hears(event.eventId, "early"))
    }

    @Test func aBundleThatTheServerSwapsIsRefused_andTold() async throws {
        let scene = try await EncryptedScene(hasIdentity: true, isInRoom: false)
        let event = try offer(in: scene, by: bob) { $0[$0.count / 2] ^= 1 }
        try await join(scene, event)
        #expect(await eventually { scene.log.contains(Self.warning) })
        #expect(await scene.hears(event.eventId, .unknownSession))
    }

    @Test func aBundleThatIsTooLargeIsRefused_andTold() async throws {
        let scene = try await EncryptedScene(hasIdentity: true, isInRoom: false)
        let event = try offer(in: scene, size: (32 << 20) + 1, by: bob)
        try await join(scene, event)
        #expect(await eventually { scene.log.contains(Self.warning) })
        #expect(await scene.hears(event.eventId, .unknownSession))
    }

    /// Eve offers keys of the room that Bob invited the client to.
    @Test func aBundleOfAnotherThanWhoHasInvitedIsNotAskedFor() async throws {
        let scene = try await EncryptedScene(hasIdentity: true, isInRoom: false)
        let event = try offer(in: scene, by: { $0.eve })
        try await join(scene, event)
        #expect(await scene.hears(event.eventId, .unknownSession))
        #expect(scene.home.server.requests("GET", "v1/media/download/s/bundle").isEmpty)
    }
}
