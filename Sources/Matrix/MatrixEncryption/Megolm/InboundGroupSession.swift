/// A Megolm session that somebody else encrypts with, from the index on from which we have it.
package struct InboundGroupSession: Sendable, Equatable {
    private let publicKey: Ed25519PublicKey
    private var earliest: MegolmRatchet
    /// The ratchet of the message that was read last: the next one is near it.
    private var latest: MegolmRatchet

    /// From `m.room_key`.
    ///
    /// - Throws: `sessionKey`, `signature`.
    package init(sessionKey: SecretBytes) throws(EncryptionError) {
        self.init(try MegolmSessionKey(sessionKey, .shared))
    }

    /// From a file, a backup or a forward.
    ///
    /// - Throws: `sessionKey`.
    package init(exported: SecretBytes) throws(EncryptionError) {
        self.init(try MegolmSessionKey(exported, .exported))
    }

    private init(_ key: MegolmSessionKey) {
        (publicKey, earliest, latest) = (key.publicKey, key.ratchet, key.ratchet)
    }

    /// The session's id: its public key.
    package var id: String { publicKey.base64 }

    /// Of the first message that it opens.
    package var firstIndex: UInt32 { earliest.index }

    /// Takes over how far another value of the same session has read: its next message takes less time.
    mutating func resume(from other: InboundGroupSession) {
        // Of a session with the same id and another ratchet, nothing may be taken.
        guard publicKey == other.publicKey, earliest == other.earliest else { return }
        latest = other.latest
    }

    /// - Throws: `version`, `signature`, `index` for one from before ``firstIndex``, `mac`, `padding`.
    package mutating func decrypt(_ message: MegolmMessage) throws(EncryptionError) -> SecretBytes {
        try message.verify(with: publicKey)
        var ratchet = latest.index <= message.index ? latest : earliest
        try ratchet.advance(to: message.index)
        let plaintext = try message.decrypt(with: ratchet.cipher)
        latest = ratchet
        return plaintext
    }

    /// What opens the messages from an index on, for files, backups and forwards.
    ///
    /// - Parameter index: Nil for ``firstIndex``.
    /// - Throws: `index` for one before it.
    package func exported(at index: UInt32? = nil) throws(EncryptionError) -> SecretBytes {
        var ratchet = earliest
        try ratchet.advance(to: index ?? firstIndex)
        return MegolmSessionKey.exported(ratchet, publicKey)
    }

    /// Whether both are the same session, from another index on perhaps. Two with the same id need not be: an export proves
    /// nothing.
    package func isConnected(to other: InboundGroupSession) -> Bool {
        guard publicKey == other.publicKey else { return false }
        var (earlier, later) = (earliest, other.earliest)
        if earlier.index > later.index { swap(&earlier, &later) }
        return (try? earlier.advance(to: later.index)) != nil && earlier == later
    }

    private static let stateVersion: UInt8 = 1

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.stateVersion)
        writer.append(MegolmSessionKey.exported(earliest, publicKey))
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.stateVersion)
        try self.init(exported: reader.secret())
        try reader.end()
    }
}
