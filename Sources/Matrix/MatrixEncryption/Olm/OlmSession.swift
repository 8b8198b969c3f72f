import Basics

/// A channel between two devices: the double ratchet of Olm (`m.olm.v1.curve25519-aes-sha2`).
///
/// A value: sending with two copies would use a key twice. Methods that throw leave it unchanged.
package struct OlmSession: Sendable, Equatable {
    /// The number of the peer's chains to keep, so that messages from before its last turns can still be decrypted.
    private static let maximumChains = 5

    /// The public keys of a session.
    package struct Keys: Hashable, Sendable {
        /// The long-term key of the side that opened the session.
        package let identity: Curve25519PublicKey
        package let base: Curve25519PublicKey
        /// The one-time key or fallback key of the other side.
        package let oneTime: Curve25519PublicKey

        /// The session's id: the SHA-256 of the keys as base64.
        package var sessionId: String {
            UnpaddedBase64.encode(Digest.sha256(identity.bytes + base.bytes + oneTime.bytes))
        }
    }

    private enum Turn: Sendable, Equatable {
        /// We have sent with our own ratchet key.
        case ours(Curve25519KeyPair, OlmChain)
        /// The peer has turned the ratchet. Our next message turns it again.
        case theirs(Curve25519PublicKey)
    }

    package let keys: Keys
    private var root: SecretBytes
    private var turn: Turn
    private var receiving: [OlmReceivingChain] = []

    package var id: String { keys.sessionId }

    /// Whether the peer has the session too. Messages no longer open it then.
    package var hasReceived: Bool { !receiving.isEmpty }

    /// Whether the next message sent uses a new ratchet key.
    package var turnsNext: Bool {
        if case .theirs = turn { true } else { false }
    }

    /// Creates the session of the side that opens it.
    init(opening keys: Keys, sharedSecret: SecretBytes, ratchetKey: Curve25519KeyPair) {
        let derived = KeyDerivation.hkdf(sharedSecret, info: "OLM_ROOT", count: 64)
        (self.keys, root) = (keys, derived[0..<32])
        turn = .ours(ratchetKey, OlmChain(key: derived[32..<64]))
    }

    /// Creates the session of the other side, from the first message.
    init(opened message: OlmPreKeyMessage, sharedSecret: SecretBytes) throws(EncryptionError) {
        let derived = KeyDerivation.hkdf(sharedSecret, info: "OLM_ROOT", count: 64)
        (keys, root) = (message.keys, derived[0..<32])
        let ratchetKey = try OlmNormalMessage(message.inner).ratchetKey
        turn = .theirs(ratchetKey)
        receiving = [OlmReceivingChain(ratchetKey: ratchetKey, chain: OlmChain(key: derived[32..<64]))]
    }

    /// Returns whether a message of type 0 belongs to this session.
    package func matches(_ message: OlmPreKeyMessage) -> Bool { message.keys == keys }

    // MARK: Sending

    /// Encrypts a message. Store the changed session before the message is sent.
    ///
    /// - Throws: `lowOrder` if the peer has sent an invalid ratchet key.
    package mutating func encrypt(_ plaintext: SecretBytes, random: RandomSource) throws(EncryptionError) -> OlmMessage
    {
        var (pair, chain) = try turned(random)
        let index = chain.index
        let cipher = MessageCipher(chain.next(), info: "OLM_KEYS")
        turn = .ours(pair, chain)
        let bytes = OlmNormalMessage.encoded(plaintext, ratchetKey: pair.publicKey, index: index, with: cipher)
        return hasReceived ? .normal(bytes) : .preKey(OlmPreKeyMessage.encoded(bytes, keys))
    }

    private mutating func turned(_ random: RandomSource) throws(EncryptionError) -> (Curve25519KeyPair, OlmChain) {
        switch turn {
        case .ours(let pair, let chain): return (pair, chain)
        case .theirs(let peer):
            let pair = Curve25519KeyPair(random: random)
            return (pair, try rootStep(pair, peer))
        }
    }

    private mutating func rootStep(
        _ own: Curve25519KeyPair, _ peer: Curve25519PublicKey
    ) throws(EncryptionError) -> OlmChain {
        let derived = KeyDerivation.hkdf(
            try own.sharedSecret(with: peer), salt: root, info: "OLM_RATCHET", count: 64)
        root = derived[0..<32]
        return OlmChain(key: derived[32..<64])
    }

    // MARK: Receiving

    /// - Throws: `messageKey` if the message was already decrypted or its key is gone; `gap`, `noChain`, `mac`,
    ///   `padding`, and the errors of parsing it.
    package mutating func decrypt(_ message: OlmMessage) throws(EncryptionError) -> SecretBytes {
        switch message {
        case .preKey(let bytes):
            let message = try OlmPreKeyMessage(bytes)
            guard matches(message) else { throw .noSession }
            return try decrypt(OlmNormalMessage(message.inner))
        case .normal(let bytes): return try decrypt(OlmNormalMessage(bytes[...]))
        }
    }

    private mutating func decrypt(_ message: OlmNormalMessage) throws(EncryptionError) -> SecretBytes {
        var next = self  // a refused message changes nothing
        let place = try next.receivingChain(of: message.ratchetKey)
        let key = try next.receiving[place].messageKey(at: message.index)
        let plaintext = try MessageCipher(key, info: "OLM_KEYS")
            .decrypt(message.ciphertext, body: message.body, code: message.code)
        self = next
        return plaintext
    }

    private mutating func receivingChain(of ratchetKey: Curve25519PublicKey) throws(EncryptionError) -> Int {
        if let place = receiving.firstIndex(where: { $0.ratchetKey == ratchetKey }) { return place }
        switch turn {
        case .theirs: throw .noChain  // it cannot turn twice
        case .ours(let pair, _):
            receiving.append(OlmReceivingChain(ratchetKey: ratchetKey, chain: try rootStep(pair, ratchetKey)))
            receiving = receiving.suffix(Self.maximumChains)
            turn = .theirs(ratchetKey)
            return receiving.endIndex - 1
        }
    }
}

// MARK: - In the store

extension OlmSession {
    private static let stateVersion: UInt8 = 1

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.stateVersion)
        for key in [keys.identity, keys.base, keys.oneTime] { writer.append(key) }
        writer.append(root)
        switch turn {
        case .ours(let pair, let chain):
            writer.append(true)
            writer.append(pair.privateKey)
            chain.write(to: &writer)
        case .theirs(let key):
            writer.append(false)
            writer.append(key)
        }
        writer.append(receiving) { writer, chain in chain.write(to: &writer) }
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.stateVersion)
        keys = Keys(identity: try reader.key(), base: try reader.key(), oneTime: try reader.key())
        root = try reader.secret()
        guard root.count == 32 else { throw .state }
        if try reader.flag() {
            let pair = try Curve25519KeyPair(privateKey: reader.secret())
            turn = .ours(pair, try OlmChain(&reader))
        } else {
            turn = .theirs(try reader.key())
        }
        receiving = try reader.list { reader throws(EncryptionError) in try OlmReceivingChain(&reader) }
        try reader.end()
    }
}
