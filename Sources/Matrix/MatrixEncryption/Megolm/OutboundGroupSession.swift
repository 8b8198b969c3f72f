/// The Megolm session with which this device encrypts (`m.megolm.v1.aes-sha2`).
///
/// A value: sending with two copies would use an index twice.
package struct OutboundGroupSession: Sendable, Equatable {
    private let key: Ed25519KeyPair
    private var ratchet: MegolmRatchet

    package init(random: RandomSource) {
        self.init(key: Ed25519KeyPair(random: random), ratchet: MegolmRatchet(random: random))
    }

    init(key: Ed25519KeyPair, ratchet: MegolmRatchet) {
        (self.key, self.ratchet) = (key, ratchet)
    }

    /// The session's id: its public key.
    package var id: String { key.publicKey.base64 }

    /// The index of the next message.
    package var index: UInt32 { ratchet.index }

    /// The key from the next message on, for `m.room_key`.
    package var sessionKey: SecretBytes { MegolmSessionKey.shared(ratchet, key) }

    /// Encrypts a message. Store the changed session before the message is sent.
    ///
    /// - Throws: `usedUp` after 2³² − 1 messages.
    package mutating func encrypt(_ plaintext: SecretBytes) throws(EncryptionError) -> [UInt8] {
        guard ratchet.index < .max else { throw .usedUp }
        let message = MegolmMessage.encoded(plaintext, with: ratchet, key: key)
        try ratchet.advance(to: ratchet.index + 1)
        return message
    }

    /// Skips indexes that a copy of the session may have used.
    package mutating func skip(to index: UInt32) throws(EncryptionError) {
        try ratchet.advance(to: index)
    }

    private static let stateVersion: UInt8 = 1

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.stateVersion)
        writer.append(key.seed)
        writer.append(ratchet.index)
        writer.append(ratchet.bytes)
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.stateVersion)
        key = try Ed25519KeyPair(seed: reader.secret())
        ratchet = try MegolmRatchet(&reader)
        try reader.end()
    }
}

extension MegolmRatchet {
    fileprivate init(_ reader: inout StateReader) throws(EncryptionError) {
        let index: UInt32 = try reader.number()
        let parts = try reader.secret()
        guard parts.count == Self.size else { throw .state }
        self.init(index: index, parts: parts)
    }
}
