/// The keys of a device, with which others open sessions to it.
///
/// It is made once for a device, stored before anything of it is uploaded, and never replaced.
package struct OlmAccount: Sendable, Equatable {
    /// How many one-time keys lie on the server.
    package static let publishedOneTimeKeys = 50
    /// How many private halves are kept: servers give keys away long before the messages come.
    static let maximumOneTimeKeys = 5_000

    package struct OneTimeKey: Sendable, Equatable {
        /// Never used twice.
        package let id: String
        let pair: Curve25519KeyPair
        /// The server has taken it.
        fileprivate(set) package var isPublished: Bool

        package var publicKey: Curve25519PublicKey { pair.publicKey }
    }

    /// The device's fingerprint: it signs the device's other keys.
    package let ed25519: Ed25519KeyPair
    /// The device's identity in Olm.
    package let curve25519: Curve25519KeyPair
    /// The oldest first.
    package private(set) var oneTimeKeys: [OneTimeKey] = []
    /// For when the server has no one-time key left. Serves many sessions.
    package private(set) var fallbackKey: OneTimeKey?
    /// Its predecessor, for messages that are on their way.
    package private(set) var previousFallbackKey: OneTimeKey?
    private var nextOneTimeKey: UInt64 = 0
    private var nextFallbackKey: UInt64 = 0

    package init(random: RandomSource) {
        (ed25519, curve25519) = (Ed25519KeyPair(random: random), Curve25519KeyPair(random: random))
    }

    init(ed25519: Ed25519KeyPair, curve25519: Curve25519KeyPair) {
        (self.ed25519, self.curve25519) = (ed25519, curve25519)
    }

    // MARK: Keys for others

    /// Those that the server does not have yet.
    package var unpublishedOneTimeKeys: [OneTimeKey] { oneTimeKeys.filter { !$0.isPublished } }

    /// - Parameter count: How many more are to be published, those included that are not yet.
    package mutating func makeOneTimeKeys(_ count: Int, random: RandomSource) {
        for _ in 0..<max(0, count - unpublishedOneTimeKeys.count) {
            addOneTimeKey(Curve25519KeyPair(random: random))
        }
    }

    mutating func addOneTimeKey(_ pair: Curve25519KeyPair) {
        oneTimeKeys.append(OneTimeKey(id: Self.keyId(nextOneTimeKey), pair: pair, isPublished: false))
        nextOneTimeKey += 1
        if oneTimeKeys.count > Self.maximumOneTimeKeys { oneTimeKeys.removeFirst() }
    }

    /// A copy of the account may have used the ids that come next: they are passed over, and no key of before is given out.
    package mutating func jumpKeyIds(by count: UInt64 = 10_000) {
        nextOneTimeKey += count
        nextFallbackKey += count
        oneTimeKeys.removeAll { !$0.isPublished }
    }

    /// The present one becomes the previous one.
    package mutating func replaceFallbackKey(random: RandomSource) {
        addFallbackKey(Curve25519KeyPair(random: random))
    }

    mutating func addFallbackKey(_ pair: Curve25519KeyPair) {
        previousFallbackKey = fallbackKey
        fallbackKey = OneTimeKey(id: Self.keyId(nextFallbackKey), pair: pair, isPublished: false)
        nextFallbackKey += 1
    }

    package mutating func dropPreviousFallbackKey() { previousFallbackKey = nil }

    /// The server has taken them.
    ///
    /// - Parameters:
    ///   - oneTimeKeys: Their ids.
    ///   - fallbackKey: Its id.
    package mutating func markPublished(oneTimeKeys ids: Set<String>, fallbackKey id: String?) {  // own names: ours
        for place in oneTimeKeys.indices where ids.contains(oneTimeKeys[place].id) {
            oneTimeKeys[place].isPublished = true
        }
        if fallbackKey?.id == id { fallbackKey?.isPublished = true }
    }

    /// The number's eight bytes, the highest first, as base64.
    private static func keyId(_ number: UInt64) -> String {
        UnpaddedBase64.encode(
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) })
    }

    // MARK: Sessions

    /// A session to a device, with one of its one-time keys.
    ///
    /// - Throws: `lowOrder`.
    package func outboundSession(
        identityKey: Curve25519PublicKey, oneTimeKey: Curve25519PublicKey, random: RandomSource
    ) throws(EncryptionError) -> OlmSession {
        try outboundSession(
            identityKey: identityKey, oneTimeKey: oneTimeKey, baseKey: Curve25519KeyPair(random: random),
            ratchetKey: Curve25519KeyPair(random: random))
    }

    func outboundSession(
        identityKey: Curve25519PublicKey, oneTimeKey: Curve25519PublicKey, baseKey: Curve25519KeyPair,
        ratchetKey: Curve25519KeyPair
    ) throws(EncryptionError) -> OlmSession {
        let secret = SecretBytes(joining: [
            try curve25519.sharedSecret(with: oneTimeKey), try baseKey.sharedSecret(with: identityKey),
            try baseKey.sharedSecret(with: oneTimeKey),
        ])
        let keys = OlmSession.Keys(identity: curve25519.publicKey, base: baseKey.publicKey, oneTime: oneTimeKey)
        return OlmSession(opening: keys, sharedSecret: secret, ratchetKey: ratchetKey)
    }

    /// The session that a message opens, and what the message says. Its one-time key is gone afterwards.
    ///
    /// - Parameter senderKey: The identity key that the event names.
    /// - Throws: `identity` if the message names another one, `oneTimeKey` if we have no such key, `lowOrder` for public keys
    ///   that are none (R1), and what ``OlmSession`` throws.
    package mutating func inboundSession(
        from message: OlmPreKeyMessage, senderKey: Curve25519PublicKey
    ) throws(EncryptionError) -> (session: OlmSession, plaintext: SecretBytes) {
        guard message.keys.identity == senderKey else { throw .identity }
        let oneTimeKey = message.keys.oneTime
        let candidates = oneTimeKeys + [fallbackKey, previousFallbackKey].compactMap(\.self)
        guard let pair = candidates.first(where: { $0.publicKey == oneTimeKey })?.pair else { throw .oneTimeKey }
        let secret = SecretBytes(joining: [
            try pair.sharedSecret(with: message.keys.identity), try curve25519.sharedSecret(with: message.keys.base),
            try pair.sharedSecret(with: message.keys.base),
        ])
        // The first answer is made with it: a session that cannot answer is none.
        _ = try curve25519.sharedSecret(with: OlmNormalMessage(message.inner).ratchetKey)
        var session = try OlmSession(opened: message, sharedSecret: secret)
        let plaintext = try session.decrypt(.normal(Array(message.inner)))
        oneTimeKeys.removeAll { $0.publicKey == oneTimeKey }
        return (session, plaintext)
    }
}

// MARK: - In the store

extension OlmAccount {
    private static let stateVersion: UInt8 = 1

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.stateVersion)
        writer.append(ed25519.seed)
        writer.append(curve25519.privateKey)
        writer.append(nextOneTimeKey)
        writer.append(nextFallbackKey)
        func append(_ key: OneTimeKey, to writer: inout StateWriter) {
            writer.append(key.id)
            writer.append(key.pair.privateKey)
            writer.append(key.isPublished)
        }
        writer.append(oneTimeKeys) { append($1, to: &$0) }
        writer.append(fallbackKey) { append($1, to: &$0) }
        writer.append(previousFallbackKey) { append($1, to: &$0) }
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.stateVersion)
        ed25519 = try Ed25519KeyPair(seed: reader.secret())
        curve25519 = try Curve25519KeyPair(privateKey: reader.secret())
        nextOneTimeKey = try reader.number()
        nextFallbackKey = try reader.number()
        func key(_ reader: inout StateReader) throws(EncryptionError) -> OneTimeKey {
            OneTimeKey(
                id: try reader.text(), pair: try Curve25519KeyPair(privateKey: reader.secret()),
                isPublished: try reader.flag())
        }
        oneTimeKeys = try reader.list(key)
        fallbackKey = try reader.optional(key)
        previousFallbackKey = try reader.optional(key)
        try reader.end()
    }
}
