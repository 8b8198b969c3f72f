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

/// A session that encrypts, on a lying homeserver. Its room contains its user and Bob.
final class EncryptedScene: Sendable {
    let home: LyingHomeserver
    let session: MXSession
    let log = LogLines()
    private let heard = Lock<[MXEvent]>([])

    /// - Parameters:
    ///   - hasIdentity: Whether the session's user has cross-signing keys and has verified Bob's.
    ///   - isInRoom: Whether the user is in the room; otherwise Bob is alone there.
    ///   - change: Changes the session's options.
    init(
        hasIdentity: Bool = false, isInRoom: Bool = true, change: (inout MXSessionOptions) -> Void = { _ in }
    ) async throws {
        home = try LyingHomeserver(on: try await FakeHomeserver.start())
        try home.with { world in
            guard isInRoom else { return }
            for user in ["@a:s", "@b:s"] { world.setMember(user) }
            world.setEncryption()
        }
        var options = MXSessionOptions()
        options.enableCrypto = true
        options.errorDelay = .milliseconds(20)
        options.reconnectPolicy = .exponential(base: .milliseconds(5), maximumDelay: .milliseconds(50))
        options.logger = log.logger
        options.keyPatience = .seconds(60)  // a busy machine must not skip any device
        change(&options)
        session = MXSession(matrixRestClient: MXRestClient.make(home.server), options: options)
        _ = session.listenToEvents { [heard] event, _, _ in heard.withLock { $0.append(event) } }
        try await session.start()
        let hasKeys = await eventually { [home] in
            let count = try? home.with { $0.keys.oneTimeKeyCount(of: LyingHomeserver.client) }
            return count ?? 0 > 0
        }
        #expect(hasKeys)
        guard hasIdentity else { return }
        guard case .completed = try await crypto.crossSigning.setup() else {
            Issue.record("the identity is not made")
            return
        }
        try await crypto.downloadKeys(["@b:s"])
        try crypto.crossSigning.signUser(withUserId: "@b:s")
        #expect(try crypto.trustLevel(forUser: "@b:s").isVerified)
        #expect(await eventually { home.hasSignatureOfClient })
    }

    deinit { session.close() }

    var crypto: MXCrypto { get throws { try #require(session.crypto) } }

    var room: MXRoom { get throws { try #require(session.room(withRoomId: "!r:s")) } }

    /// The event as last delivered.
    func heard(_ id: String) -> MXEvent? { heard.withLock { heard in heard.last { $0.eventId == id } } }

    /// Waits until the event is delivered and satisfies `condition`.
    func hears(_ id: String, _ condition: @escaping @Sendable (MXEvent) -> Bool = { _ in true }) async -> Bool {
        await eventually { self.heard(id).map(condition) == true }
    }

    func hears(_ id: String, _ text: String) async -> Bool {
        await hears(id) { $0.isDecrypted && $0.body == text }
    }

    func hears(_ id: String, _ error: MXDecryptionError) async -> Bool {
        await hears(id) { $0.decryptionError == error && $0.body == nil }
    }

    /// Sends a message from Bob and waits until it is read.
    func bobSays(_ text: String, id: String? = nil, content: JSONView? = nil) async throws -> EncryptedEvent {
        let event = try home.with { world in
            let event = try world.say(text, by: world.bob, content: content)
            world.tell(event, id: id)
            return event
        }
        #expect(await hears(id ?? event.eventId) { $0.isDecrypted })
        return event
    }

    /// A device's text of an event on the server; `nil` if the device cannot read it.
    func reads(_ id: String, _ device: @escaping @Sendable (LyingHomeserver.World) -> TestDevice) throws -> String? {
        try home.with { world in
            let event = try #require(world.encrypted(id))
            #expect(event.content["algorithm"]?.string == Algorithm.megolm)
            try device(world).sync()
            return try? device(world).text(event)
        }
    }

    /// Whether the server has received the text.
    func hasLeaked(_ text: String) -> Bool { home.server.hasReceived(text) }

    /// Returns when the client has received everything.
    func isUpToDate() async throws {
        let id = try home.with { world in
            world.tell("m.room.topic", from: "@b:s", object { $0.add("topic", "now") }, stateKey: "")
        }
        #expect(await hears(id))
    }
}
