/// One direction of a session between two turns of the ratchet.
struct OlmChain: Sendable, Equatable {
    /// The maximum number of messages that may be missing before one that is decrypted.
    static let maximumGap: UInt64 = 2_000
    /// The maximum number of keys of missing messages to keep. The oldest are discarded first.
    static let maximumSkipped = 40

    private var key: SecretBytes
    /// The index of the next message.
    private(set) var index: UInt64

    init(key: SecretBytes, index: UInt64 = 0) { (self.key, self.index) = (key, index) }

    /// Returns the key of the next message and advances the chain.
    mutating func next() -> SecretBytes {
        defer {
            key = KeyDerivation.hmac(key: key, [2])
            index += 1
        }
        return KeyDerivation.hmac(key: key, [1])
    }
}

extension OlmChain {
    func write(to writer: inout StateWriter) {
        writer.append(key)
        writer.append(index)
    }

    init(_ reader: inout StateReader) throws(EncryptionError) {
        key = try reader.secret()
        index = try reader.number()
        guard key.count == 32 else { throw .state }
    }
}

/// A chain of messages from the peer.
struct OlmReceivingChain: Sendable, Equatable {
    let ratchetKey: Curve25519PublicKey
    private var chain: OlmChain
    /// The keys of messages that have not arrived yet, the oldest first.
    private var skipped: [Skipped] = []

    private struct Skipped: Sendable, Equatable {
        let index: UInt64
        let key: SecretBytes
    }

    init(ratchetKey: Curve25519PublicKey, chain: OlmChain) {
        (self.ratchetKey, self.chain) = (ratchetKey, chain)
    }

    /// Returns the key of the message with an index. Each key is returned only once.
    mutating func messageKey(at index: UInt64) throws(EncryptionError) -> SecretBytes {
        guard index >= chain.index else {
            guard let place = skipped.firstIndex(where: { $0.index == index }) else { throw .messageKey }
            return skipped.remove(at: place).key
        }
        guard index - chain.index <= OlmChain.maximumGap else { throw .gap }
        while chain.index < index { skipped.append(Skipped(index: chain.index, key: chain.next())) }
        skipped = skipped.suffix(OlmChain.maximumSkipped)
        return chain.next()
    }

    func write(to writer: inout StateWriter) {
        writer.append(ratchetKey)
        chain.write(to: &writer)
        writer.append(skipped) { writer, skipped in
            writer.append(skipped.index)
            writer.append(skipped.key)
        }
    }

    init(_ reader: inout StateReader) throws(EncryptionError) {
        ratchetKey = try reader.key()
        chain = try OlmChain(&reader)
        skipped = try reader.list { reader throws(EncryptionError) in
            Skipped(index: try reader.number(), key: try reader.secret())
        }
    }
}
