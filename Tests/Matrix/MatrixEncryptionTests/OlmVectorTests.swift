import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// `Fixtures/matrix-encryption/olm.json`: conversations with vodozemac.
@Suite struct OlmVectorTests {
    private static let vectors = Vectors.file("olm")

    /// A source that returns the test's bytes in order.
    static func chosen(_ bytes: [UInt8]) -> RandomSource {
        RandomSource { buffer in buffer.copyBytes(from: bytes.prefix(buffer.count)) }
    }

    @Test(.rule("R4", "R5", "R6", "R7"), arguments: 0..<4) func aConversationGoesAsItWent(number: Int) throws {
        let run = try Self.vectors.list("conversations")[number]
        var conversation = try OlmConversation(run)
        for (index, step) in try run.list("steps").enumerated() {
            try conversation.play(step, "\(try run.text("name")), step \(index)")
        }
        for (name, left) in try run.value("one_time_keys_left").members {
            #expect(conversation.accounts[name]?.oneTimeKeys.count == left.int)
        }
    }

    @Test func keysOfMessagesAreDerived() throws {
        for vector in try Self.vectors.list("key_schedule") {
            var chain = OlmChain(key: SecretBytes(try vector.hex("chain_key")))
            let key = chain.next()
            #expect(try key == SecretBytes(vector.hex("message_key")))
            #expect(try chain == OlmChain(key: SecretBytes(vector.hex("next_chain_key")), index: 1))
            let keys = KeyDerivation.hkdf(key, info: "OLM_KEYS", count: 80)
            #expect(try keys[0..<32] == SecretBytes(vector.hex("aes_key")))
            #expect(try keys[32..<64] == SecretBytes(vector.hex("hmac_key")))
            #expect(try keys[64..<80] == SecretBytes(vector.hex("aes_iv")))
        }
    }

    /// As in a damaged store.
    @Test func aRootOfAnotherLengthIsRefused() throws {
        let (alice, bob) = (OlmAccount(random: .system), Curve25519KeyPair(random: .system).publicKey)
        let session = try alice.outboundSession(identityKey: bob, oneTimeKey: bob, random: .system)
        var state = session.state.withUnsafeBytes { Array($0) }
        #expect(try OlmSession(state: SecretBytes(state)) == session)
        // After the version and three keys with their lengths.
        let root = 1 + 3 * 33
        #expect(state[root] == 32)
        state.insert(contentsOf: repeatElement(0, count: 33), at: root + 1)
        state[root] = 65
        #expect(throws: EncryptionError.state) { try OlmSession(state: SecretBytes(state)) }
    }

    @Test(.rule("R3")) func malformedMessagesAreRefused() throws {
        for vector in try Self.vectors.list("malformed") {
            let (bytes, why) = (try vector.hex("hex"), try vector.text("why"))
            #expect(throws: EncryptionError.self, "\(why)") {
                if vector["type"]?.int == 0 {
                    _ = try OlmPreKeyMessage(bytes)
                } else {
                    _ = try OlmNormalMessage(bytes[...])
                }
            }
        }
    }
}

/// The accounts and sessions of one of the conversations.
private struct OlmConversation {
    var accounts: [String: OlmAccount] = [:]
    private var sessions: [String: OlmSession] = [:]
    private var sent: [String: OlmMessage] = [:]
    private var ids: Set<String> = []

    init(_ run: JSONView) throws {
        for (name, account) in try run.value("accounts").members { accounts[name] = try OlmAccount(account) }
        for opening in try run.list("outbounds") {
            let account = try #require(accounts[try opening.text("account")])
            let session = try account.outboundSession(
                identityKey: Curve25519PublicKey(base64: opening.text("their_identity_key")),
                oneTimeKey: Curve25519PublicKey(base64: opening.text("their_one_time_key")),
                baseKey: Curve25519KeyPair(privateKey: SecretBytes(opening.hex("base_private"))),
                ratchetKey: Curve25519KeyPair(privateKey: SecretBytes(opening.hex("ratchet_private"))))
            #expect(session.id == (try? opening.text("session_id")))
            ids.insert(session.id)
            sessions[try opening.text("session")] = session
        }
    }

    mutating func play(_ step: JSONView, _ name: String) throws {
        let by = try step.text("by")
        switch try step.text("do") {
        case "encrypt":
            let random = OlmVectorTests.chosen(step["ratchet_private"] == nil ? [] : try step.hex("ratchet_private"))
            let message = try #require(
                try sessions[by]?.encrypt(SecretBytes(step.text("plaintext").utf8), random: random))
            #expect(message.type == step["type"]?.int, "\(name)")
            #expect(message.body == step["body"]?.string, "\(name)")
            sent[try step.text("message")] = message
        case "skip":
            for _ in 0..<(try #require(step["count"]?.int)) {
                _ = try sessions[by]?.encrypt(SecretBytes([]), random: .system)
            }
        case "decrypt":
            #expect(try decrypt(step, by) == SecretBytes(step.text("plaintext").utf8), "\(name)")
        case "refuse": try refuse(step, by, name)
        case "flip_every_byte": try flipEveryByte(of: try message(step), by, name)
        default: Issue.record("unknown step in \(name)")
        }
        // Stored sessions are loaded again.
        if let session = sessions[by] { sessions[by] = try OlmSession(state: session.state) }
        if let account = accounts[by] { #expect(try OlmAccount(state: account.state) == account) }
    }

    private func message(_ step: JSONView) throws -> OlmMessage { try #require(sent[try step.text("message")]) }

    private mutating func decrypt(_ step: JSONView, _ by: String) throws -> SecretBytes {
        let message = try message(step)
        if let known = sessions[by] {
            if case .preKey(let bytes) = message { #expect(known.matches(try OlmPreKeyMessage(bytes))) }
            return try #require(try sessions[by]?.decrypt(message))
        }
        let owner = String(by.prefix { $0 != "/" })
        let sender = try #require(accounts[try step.text("sender")])
        guard case .preKey(let bytes) = message else { throw EncryptionError.noSession }
        let opened = try #require(
            try accounts[owner]?.inboundSession(
                from: OlmPreKeyMessage(bytes), senderKey: sender.curve25519.publicKey))
        #expect(ids.contains(opened.session.id))
        sessions[by] = opened.session
        return opened.plaintext
    }

    private mutating func refuse(_ step: JSONView, _ by: String, _ name: String) throws {
        let message = try message(step)
        let before = (accounts, sessions.mapValues(\.state))
        let why = step["why"]?.string
        let error = #expect(throws: EncryptionError.self, "\(name)") {
            if step["new_session"]?.bool == true {
                guard case .preKey(let bytes) = message else { throw EncryptionError.noSession }
                let opening = try OlmPreKeyMessage(bytes)
                _ = try accounts[by]?.inboundSession(from: opening, senderKey: opening.keys.identity)
            } else {
                _ = try sessions[by]?.decrypt(message)
            }
        }
        #expect(why == nil || error?.rawValue == why, "\(name)")
        #expect(before.0 == accounts && before.1 == sessions.mapValues(\.state), "\(name)")
    }

    private mutating func flipEveryByte(of message: OlmMessage, _ by: String, _ name: String) throws {
        guard case .normal(let bytes) = message else { throw EncryptionError.version }
        let before = sessions[by]?.state
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(throws: EncryptionError.self, "\(name), byte \(place)") {
                try sessions[by]?.decrypt(.normal(changed))
            }
        }
        #expect(sessions[by]?.state == before)
    }
}

extension OlmAccount {
    /// A conversation from a vector, with known keys.
    init(_ vector: JSONView) throws {
        self.init(
            ed25519: try Ed25519KeyPair(seed: SecretBytes(vector.hex("ed25519_seed"))),
            curve25519: try Curve25519KeyPair(privateKey: SecretBytes(vector.hex("curve25519_private"))))
        #expect(ed25519.publicKey.base64 == vector["ed25519"]?.string)
        #expect(curve25519.publicKey.base64 == vector["curve25519"]?.string)
        for key in vector["one_time_keys"]?.array ?? [] {
            addOneTimeKey(try Curve25519KeyPair(privateKey: SecretBytes(key.hex("private"))))
        }
        for key in vector["fallback_keys"]?.array ?? [] {
            addFallbackKey(try Curve25519KeyPair(privateKey: SecretBytes(key.hex("private"))))
        }
    }
}
