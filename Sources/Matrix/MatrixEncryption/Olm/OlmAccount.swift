/// A device's keys, with which others open sessions to it.
///
/// Create an account once per device, store it before uploading anything from it, and never replace it.
package struct OlmAccount: Sendable, Equatable {
    /// The number of one-time keys on the server.
    package static let publishedOneTimeKeys = 50
    /// The maximum number of private halves to keep. Servers give keys away long before the messages arrive.
    static let maximumOneTimeKeys = 5_000

    package struct OneTimeKey: Sendable, Equatable {
        /// The id, which is never reused.
        package let id: String
        let pair: Curve25519KeyPair
        /// Whether the server has accepted the key.
        fileprivate(set) package var isPublished: Bool

        package var publicKey: Curve25519PublicKey { pair.publicKey }
    }

    /// The device's fingerprint key, which signs its other keys.
    package let ed25519: Ed25519KeyPair
    /// The device's identity key in Olm.
    package let curve25519: Curve25519KeyPair
    /// The one-time keys, the oldest first.
    package private(set) var oneTimeKeys: [OneTimeKey] = []
    /// The key to use when the server has no one-time key left. It can serve many sessions.
    package private(set) var fallbackKey: OneTimeKey?
    /// The previous fallback key, for messages still in transit.
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

    /// The keys that the server does not have yet.
    package var unpublishedOneTimeKeys: [OneTimeKey] { oneTimeKeys.filter { !$0.isPublished } }

    /// - Parameter count: The number of keys to publish, including those not published yet.
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

    /// Skips ids that a copy of the account may have used, and drops unpublished keys from before.
    package mutating func jumpKeyIds(by count: UInt64 = 10_000) {
        nextOneTimeKey += count
        nextFallbackKey += count
        oneTimeKeys.removeAll { !$0.isPublished }
    }

    /// Replaces the fallback key. The current one becomes the previous one.
    package mutating func replaceFallbackKey(random: RandomSource) {
        addFallbackKey(Curve25519KeyPair(random: random))
    }

    mutating func addFallbackKey(_ pair: Curve25519KeyPair) {
        previousFallbackKey = fallbackKey
        fallbackKey = OneTimeKey(id: Self.keyId(nextFallbackKey), pair: pair, isPublished: false)
        nextFallbackKey += 1
    }

    package mutating func dropPreviousFallbackKey() { previousFallbackKey = nil }

    /// Marks keys as accepted by the server.
    ///
    /// - Parameters:
    ///   - oneTimeKeys: The ids of the one-time keys.
    ///   - fallbackKey: The id of the fallback key.
    package mutating func markPublished(oneTimeKeys ids: Set<String>, fallbackKey id: String?) {  // own names: ours
        for place in oneTimeKeys.indices where ids.contains(oneTimeKeys[place].id) {
            oneTimeKeys[place].isPublished = true
        }
        if fallbackKey?.id == id { fallbackKey?.isPublished = true }
    }

    /// Returns the number's eight bytes in big-endian order, as base64.
    private static func keyId(_ number: UInt64) -> String {
        UnpaddedBase64.encode(
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) })
    }

    // MARK: Sessions

    /// Creates a session to a device, using one of its one-time keys.
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

    /// Creates the session that a message opens, and returns it with the plaintext. The one-time key is removed.
    ///
    /// - Parameter senderKey: The identity key named by the event.
    /// - Throws: `identity` if the message names another one, `oneTimeKey` if we don't have the key, `lowOrder` for
    ///   invalid public keys (R1), and the errors of ``OlmSession``.
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
        // The first answer uses this key. Reject a session that cannot answer.
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
