import EncryptionTestSupport
import TestSupport
import Testing

@testable import MatrixEncryption

/// Low-order ratchet keys: answering with one makes the shared secret public (R1).
@Suite struct LowOrderKeyTests {
    private let zero = Curve25519PublicKey(wellFormed: [UInt8](repeating: 0, count: 32))

    /// A message that opens a session and contains such a key.
    private func message(
        from identity: Curve25519KeyPair, to receiver: Curve25519PublicKey, _ oneTime: Curve25519PublicKey
    ) throws -> (OlmPreKeyMessage, secret: SecretBytes) {
        let base = Curve25519KeyPair(random: .system)
        let secret = SecretBytes(joining: [
            try identity.sharedSecret(with: oneTime), try base.sharedSecret(with: receiver),
            try base.sharedSecret(with: oneTime),
        ])
        var chain = OlmChain(key: KeyDerivation.hkdf(secret, info: "OLM_ROOT", count: 64)[32..<64])
        let inner = OlmNormalMessage.encoded(
            SecretBytes("{}".utf8), ratchetKey: zero, index: 0, with: MessageCipher(chain.next(), info: "OLM_KEYS"))
        let keys = OlmSession.Keys(identity: identity.publicKey, base: base.publicKey, oneTime: oneTime)
        return (try OlmPreKeyMessage(OlmPreKeyMessage.encoded(inner, keys)), secret)
    }

    @Test(.rule("R1")) func aFirstMessageWithSuchARatchetKeyOpensNothing() throws {
        var account = OlmAccount(random: .system)
        account.makeOneTimeKeys(1, random: .system)
        let oneTime = try #require(account.unpublishedOneTimeKeys.first).publicKey
        let peer = Curve25519KeyPair(random: .system)
        let (message, secret) = try message(from: peer, to: account.curve25519.publicKey, oneTime)
        var session = try OlmSession(opened: message, sharedSecret: secret)
        #expect(try session.decrypt(.normal(Array(message.inner))) == SecretBytes("{}".utf8))  // readable
        #expect(throws: EncryptionError.lowOrder) {
            try account.inboundSession(from: message, senderKey: peer.publicKey)
        }
        #expect(account.unpublishedOneTimeKeys.count == 1)
    }

    /// A stored channel with such a key does not block keys for other devices.
    @Test(.rule("R1")) func aChannelThatCannotAnswerIsGivenUp() throws {
        let server = KeyServer()
        let (alice, bob) = (
            try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server)
        )
        try alice.encryptRoom("!r:s")
        let peer = bob.machine.account.curve25519
        let (message, secret) = try message(
            from: peer, to: alice.machine.account.curve25519.publicKey, Curve25519KeyPair(random: .system).publicKey)
        let session = try OlmSession(opened: message, sharedSecret: secret)
        try alice.turn { _, turn in
            turn.records.set(
                OlmSessionRecord(session: session, lastUsed: alice.now),
                scope: peer.publicKey.base64, key: session.id)
        }
        let event = try alice.send("hello", to: .room("@alice:s", "@bob:s"))
        try bob.sync()
        #expect(try bob.text(event) == "hello")
    }
}
