/// A Megolm session of another sender, from the first index that is available.
package struct InboundGroupSession: Sendable, Equatable {
    private let publicKey: Ed25519PublicKey
    private var earliest: MegolmRatchet
    /// The ratchet of the message decrypted last, which is close to the next one.
    private var latest: MegolmRatchet

    /// Creates a session from `m.room_key`.
    ///
    /// - Throws: `sessionKey`, `signature`.
    package init(sessionKey: SecretBytes) throws(EncryptionError) {
        self.init(try MegolmSessionKey(sessionKey, .shared))
    }

    /// Creates a session from a file, a backup or a forwarded key.
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

    /// The index of the first message that it decrypts.
    package var firstIndex: UInt32 { earliest.index }

    /// Adopts the progress of another value of the same session, so that its next message takes less time.
    mutating func resume(from other: InboundGroupSession) {
        // Adopt nothing from a session with the same id and another ratchet.
        guard publicKey == other.publicKey, earliest == other.earliest else { return }
        latest = other.latest
    }

    /// - Throws: `version`, `signature`, `index` if it is before ``firstIndex``, `mac`, `padding`.
    package mutating func decrypt(_ message: MegolmMessage) throws(EncryptionError) -> SecretBytes {
        try message.verify(with: publicKey)
        var ratchet = latest.index <= message.index ? latest : earliest
        try ratchet.advance(to: message.index)
        let plaintext = try message.decrypt(with: ratchet.cipher)
        latest = ratchet
        return plaintext
    }

    /// Returns the key from an index on, for files, backups and forwarding.
    ///
    /// - Parameter index: The index; `nil` for ``firstIndex``.
    /// - Throws: `index` if it is before that.
    package func exported(at index: UInt32? = nil) throws(EncryptionError) -> SecretBytes {
        var ratchet = earliest
        try ratchet.advance(to: index ?? firstIndex)
        return MegolmSessionKey.exported(ratchet, publicKey)
    }

    /// Returns whether both are the same session, perhaps from different indexes. Two with the same id may differ: an
    /// export proves nothing.
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
