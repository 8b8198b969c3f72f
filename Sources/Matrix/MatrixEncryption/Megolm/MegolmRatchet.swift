/// The ratchet of a Megolm session: four parts of 32 bytes. The first advances every 2²⁴ messages, the last with each.
/// It only goes forward.
struct MegolmRatchet: Sendable, Equatable {
    static let size = 128

    /// The index of the next message.
    private(set) var index: UInt32
    private var parts: [SecretBytes]

    init(random: RandomSource) {
        self.init(index: 0, parts: random.secret(Self.size))
    }

    /// - Parameter parts: 128 bytes.
    init(index: UInt32, parts: SecretBytes) {
        self.index = index
        self.parts = (0..<4).map { parts[$0 * 32..<$0 * 32 + 32] }
    }

    var bytes: SecretBytes { SecretBytes(joining: parts) }

    /// The cipher of the next message.
    var cipher: MessageCipher { MessageCipher(bytes, info: "MEGOLM_KEYS") }

    /// - Throws: `index` if it has passed. Takes at most 1,024 hashes.
    mutating func advance(to target: UInt32) throws(EncryptionError) {
        guard target >= index else { throw .index }
        for part in 0..<4 {
            let shift = UInt32(8 * (3 - part))
            let steps = (target >> shift) - (index >> shift)
            guard steps > 0 else { continue }
            for _ in 1..<steps { parts[part] = KeyDerivation.hmac(key: parts[part], [UInt8(part)]) }
            let source = parts[part]
            for other in part..<4 { parts[other] = KeyDerivation.hmac(key: source, [UInt8(other)]) }
            index = (target >> shift) << shift
        }
        index = target
    }
}
