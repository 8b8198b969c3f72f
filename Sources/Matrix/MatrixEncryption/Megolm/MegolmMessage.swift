/// A parsed message of a Megolm session: the ciphertext, a MAC, and a signature by the session's key.
package struct MegolmMessage {
    private static let signatureLength = 64

    package let index: UInt32
    let ciphertext: ArraySlice<UInt8>
    private let signed: ArraySlice<UInt8>
    private let signature: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) throws(EncryptionError) {
        let tail = Self.signatureLength + MessageCipher.codeLength
        guard bytes.count >= tail + 2, bytes.first == messageVersion else { throw .version }
        (signed, signature) = (bytes.dropLast(Self.signatureLength), bytes.suffix(Self.signatureLength))
        let fields = try MessageFields(bytes.dropLast(tail).dropFirst(), known: [0x08, 0x12])
        ciphertext = try fields.bytes(0x12)
        guard let index = UInt32(exactly: fields.number(0x08)) else { throw .index }
        self.index = index
    }

    static func encoded(_ plaintext: SecretBytes, with ratchet: MegolmRatchet, key: Ed25519KeyPair) -> [UInt8] {
        let cipher = ratchet.cipher
        let ciphertext = cipher.encrypt(plaintext)
        var bytes: [UInt8] = [messageVersion, 0x08]
        Varint.append(UInt64(ratchet.index), to: &bytes)
        bytes.append(0x12)
        Varint.append(UInt64(ciphertext.count), to: &bytes)
        bytes += ciphertext
        bytes += cipher.code(of: bytes)
        return bytes + key.signature(of: bytes)
    }

    func verify(with key: Ed25519PublicKey) throws(EncryptionError) {
        try key.verify(Array(signature), of: Array(signed))
    }

    func decrypt(with cipher: MessageCipher) throws(EncryptionError) -> SecretBytes {
        try cipher.decrypt(
            ciphertext, body: signed.dropLast(MessageCipher.codeLength), code: signed.suffix(MessageCipher.codeLength))
    }
}
