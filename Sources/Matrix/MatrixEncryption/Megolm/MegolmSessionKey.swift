/// The shareable key of a Megolm session from an index on.
struct MegolmSessionKey {
    /// The form in which the key is shared.
    enum Form: UInt8 {
        /// For files, backups and forwarding. It proves nothing: anyone who has it can create one with any ratchet.
        case exported = 1
        /// For `m.room_key`. Its signature proves that the sender owns the session.
        case shared = 2
    }

    let ratchet: MegolmRatchet
    let publicKey: Ed25519PublicKey

    private static let exportedSize = 165
    private static let sharedSize = 229

    /// - Throws: `sessionKey` for a wrong form or size, `signature`.
    init(_ bytes: SecretBytes, _ form: Form) throws(EncryptionError) {
        let size = form == .exported ? Self.exportedSize : Self.sharedSize
        guard bytes.count == size, bytes.withUnsafeBytes({ $0.first }) == form.rawValue else { throw .sessionKey }
        let index = bytes.withUnsafeBytes { $0[1..<5].reduce(0 as UInt32) { $0 << 8 | UInt32($1) } }
        ratchet = MegolmRatchet(index: index, parts: bytes[5..<133])
        publicKey = Ed25519PublicKey(wellFormed: bytes.withUnsafeBytes { Array($0[133..<165]) })
        guard form == .shared else { return }
        let (signed, signature) = bytes.withUnsafeBytes { (Array($0[..<165]), Array($0[165...])) }
        try publicKey.verify(signature, of: signed)
    }

    static func exported(_ ratchet: MegolmRatchet, _ publicKey: Ed25519PublicKey) -> SecretBytes {
        encoded(ratchet, publicKey, .exported)
    }

    static func shared(_ ratchet: MegolmRatchet, _ key: Ed25519KeyPair) -> SecretBytes {
        let signed = encoded(ratchet, key.publicKey, .shared)
        let signature = key.signature(of: signed.withUnsafeBytes { Array($0) })
        return SecretBytes(joining: [signed, SecretBytes(signature)])
    }

    private static func encoded(_ ratchet: MegolmRatchet, _ key: Ed25519PublicKey, _ form: Form) -> SecretBytes {
        let index = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: ratchet.index >> UInt32($0)) }
        return SecretBytes(joining: [SecretBytes([form.rawValue] + index), ratchet.bytes, SecretBytes(key.bytes)])
    }
}
