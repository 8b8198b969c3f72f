import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// `Fixtures/matrix-encryption/megolm.json`: one vodozemac session at 17 indices.
@Suite struct MegolmVectorTests {
    private static let vectors = Vectors.file("megolm")

    private let key: Ed25519KeyPair
    private let start: MegolmRatchet
    private let session: InboundGroupSession

    init() throws {
        key = try Ed25519KeyPair(seed: SecretBytes(Self.vectors.hex("ed25519_seed")))
        start = MegolmRatchet(index: 0, parts: try Self.parts(Self.vectors, "ratchet"))
        session = try InboundGroupSession(sessionKey: Self.secret(Self.vectors, "session_key"))
    }

    private static func parts(_ vector: JSONView, _ key: String) throws -> SecretBytes {
        SecretBytes(joining: try vector.texts(key).map { SecretBytes(try Hexadecimal.bytes($0)) })
    }

    private static func secret(_ vector: JSONView, _ key: String) throws -> SecretBytes {
        try UnpaddedBase64.decodeSecret(vector.text(key))
    }

    private static func message(_ vector: JSONView) throws -> MegolmMessage {
        try MegolmMessage(UnpaddedBase64.decode(vector.text("message")))
    }

    @Test func theSessionIsWhatItsKeysMakeIt() throws {
        #expect(try session.id == Self.vectors.text("session_id"))
        #expect(OutboundGroupSession(key: key, ratchet: start).id == session.id)
        #expect(
            try OutboundGroupSession(key: key, ratchet: start).sessionKey == Self.secret(Self.vectors, "session_key"))
    }

    @Test(.rule("R9"), arguments: 0..<17) func anyIndexIsReached(place: Int) throws {
        let vector = try Self.vectors.list("at")[place]
        let index = try #require(UInt32(exactly: vector.wholeNumber("index")))
        var ratchet = start
        try ratchet.advance(to: index)
        #expect(try ratchet.bytes == Self.parts(vector, "ratchet"))
        if index < .max {
            var next = ratchet
            try next.advance(to: index + 1)
            #expect(try next.bytes == Self.parts(vector, "next"))
        }
        let keys = KeyDerivation.hkdf(ratchet.bytes, info: "MEGOLM_KEYS", count: 80)
        #expect(try keys[0..<32] == SecretBytes(vector.hex("aes_key")))
        #expect(try keys[32..<64] == SecretBytes(vector.hex("hmac_key")))
        #expect(try keys[64..<80] == SecretBytes(vector.hex("aes_iv")))

        #expect(try session.exported(at: index) == Self.secret(vector, "exported"))
        #expect(try OutboundGroupSession(key: key, ratchet: ratchet).sessionKey == Self.secret(vector, "session_key"))
        let plaintext = SecretBytes(try vector.text("plaintext").utf8)
        let message = MegolmMessage.encoded(plaintext, with: ratchet, key: key)
        #expect(try UnpaddedBase64.encode(message) == vector.text("message"))
        var session = session
        #expect(try session.decrypt(Self.message(vector)) == plaintext)

        var late = try InboundGroupSession(exported: Self.secret(vector, "exported"))
        #expect(late.firstIndex == index)
        #expect(try late.decrypt(Self.message(vector)) == plaintext)
        #expect(session.isConnected(to: late) && late.isConnected(to: session))
        guard index > 0 else { return }
        let first = try Self.message(Self.vectors.list("at")[0])
        #expect(throws: EncryptionError.index) { try late.decrypt(first) }
        #expect(try session.decrypt(first) == SecretBytes("message 0 ✓".utf8))  // older than the latest
    }

    @Test(.rule("R8")) func aLeapIsShort() throws {
        // The maximum number of hashes: every part steps 255 times.
        let time = try cpuTime {
            for _ in 0..<20 {
                var ratchet = start
                try ratchet.advance(to: .max)
            }
        }
        #expect(time < .seconds(1), "five milliseconds each, in a debug build too")
    }

    @Test func stepsLeadWhereALeapLeads() throws {
        var stepped = start
        for vector in try Self.vectors.list("at") {
            let index = try #require(UInt32(exactly: vector.wholeNumber("index")))
            guard index < 70_000 else { break }
            while stepped.index < index { try stepped.advance(to: stepped.index + 1) }
            #expect(try stepped.bytes == Self.parts(vector, "ratchet"))
        }
    }

    @Test func otherMessagesAreRefused() throws {
        for vector in try Self.vectors.list("refused") {
            var session = session
            let name = try vector.text("name")
            let error = #expect(throws: EncryptionError.self, "\(name)") { try session.decrypt(Self.message(vector)) }
            #expect(try error?.rawValue == vector.text("why"), "\(name)")
            #expect(session == self.session)
        }
    }

    @Test(.rule("R1", "R10")) func otherSessionKeysAreRefused() throws {
        for vector in try Self.vectors.list("session_key_refused") {
            let (bytes, name) = (try Self.secret(vector, "session_key"), try vector.text("name"))
            let error = #expect(throws: EncryptionError.self, "\(name)") {
                _ =
                    vector["exported"]?.bool == true
                    ? try InboundGroupSession(exported: bytes) : try InboundGroupSession(sessionKey: bytes)
            }
            #expect(try error?.rawValue == vector.text("why"), "\(name)")
        }
    }

    @Test func aSessionWithTheSameIdNeedNotBeTheSame() throws {
        let other = try InboundGroupSession(exported: Self.secret(Self.vectors, "unconnected_export"))
        #expect(other.id == session.id)
        #expect(!other.isConnected(to: session) && !session.isConnected(to: other))
    }

    @Test func aSessionResumesFromItselfAlone() throws {
        var outbound = OutboundGroupSession(random: .system)
        let fresh = try InboundGroupSession(sessionKey: outbound.sessionKey)
        let messages = try (0..<3).map { _ in try MegolmMessage(outbound.encrypt(SecretBytes([7]))) }
        var read = fresh
        _ = try read.decrypt(messages[1])
        var resumed = fresh
        resumed.resume(from: read)
        #expect(resumed == read && resumed != fresh)
        for message in messages.reversed() { #expect(try resumed.decrypt(message) == SecretBytes([7])) }

        let other = try InboundGroupSession(exported: Self.secret(Self.vectors, "unconnected_export"))
        var same = session
        same.resume(from: other)
        #expect(same.id == other.id && same == session)
    }

    @Test func whatIsStoredIsReadBack() throws {
        var outbound = OutboundGroupSession(random: .system)
        let inbound = try InboundGroupSession(sessionKey: outbound.sessionKey)
        for number in 0..<300 {
            let text = SecretBytes("\(number)".utf8)
            let message = try MegolmMessage(outbound.encrypt(text))
            #expect(message.index == UInt32(number))
            outbound = try OutboundGroupSession(state: outbound.state)
            var reader = try InboundGroupSession(state: inbound.state)
            #expect(try reader.decrypt(message) == text)
        }
    }

    @Test func aSessionThatIsUsedUpEncryptsNothing() throws {
        var outbound = OutboundGroupSession(key: key, ratchet: start)
        try outbound.skip(to: .max)
        #expect(throws: EncryptionError.usedUp) { try outbound.encrypt(SecretBytes([])) }
        #expect(throws: EncryptionError.index) { try outbound.skip(to: 0) }
    }
}
