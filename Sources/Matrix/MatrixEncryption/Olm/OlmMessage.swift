/// A message sent over an ``OlmSession``.
package enum OlmMessage: Hashable, Sendable {
    /// Type 0. It opens the session at the other side, and is used until there is an answer.
    case preKey([UInt8])
    /// Type 1.
    case normal([UInt8])

    /// - Parameters:
    ///   - type: The type in the event, 0 or 1.
    ///   - body: The body in base64.
    package init(type: Int, body: String) throws(EncryptionError) {
        let bytes = try UnpaddedBase64.decode(body)
        switch type {
        case 0: self = .preKey(bytes)
        case 1: self = .normal(bytes)
        default: throw .version
        }
    }

    package var type: Int {
        switch self {
        case .preKey: 0
        case .normal: 1
        }
    }

    package var body: String {
        switch self {
        case .preKey(let bytes), .normal(let bytes): UnpaddedBase64.encode(bytes)
        }
    }
}

/// The version of all messages.
let messageVersion: UInt8 = 3

/// A parsed normal message.
package struct OlmNormalMessage {
    package let ratchetKey: Curve25519PublicKey
    package let index: UInt64
    let ciphertext: ArraySlice<UInt8>
    let body: ArraySlice<UInt8>
    let code: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) throws(EncryptionError) {
        guard bytes.first == messageVersion else { throw .version }
        guard bytes.count >= 10 else { throw .length }
        (body, code) = (bytes.dropLast(MessageCipher.codeLength), bytes.suffix(MessageCipher.codeLength))
        let fields = try MessageFields(body.dropFirst(), known: [0x0A, 0x10, 0x22])
        ratchetKey = try fields.key(0x0A)
        index = fields.number(0x10)
        ciphertext = try fields.bytes(0x22)
    }

    static func encoded(
        _ plaintext: SecretBytes, ratchetKey: Curve25519PublicKey, index: UInt64, with cipher: MessageCipher
    ) -> [UInt8] {
        let ciphertext = cipher.encrypt(plaintext)
        var bytes = [messageVersion, 0x0A, 32] + ratchetKey.bytes + [0x10]
        Varint.append(index, to: &bytes)
        bytes.append(0x22)
        Varint.append(UInt64(ciphertext.count), to: &bytes)
        bytes += ciphertext
        return bytes + cipher.code(of: bytes)
    }
}

/// A parsed message that opens a session.
package struct OlmPreKeyMessage {
    /// The public keys of the session.
    let keys: OlmSession.Keys
    package let inner: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) throws(EncryptionError) {
        guard bytes.first == messageVersion else { throw .version }
        let fields = try MessageFields(bytes.dropFirst(), known: [0x0A, 0x12, 0x1A, 0x22])
        keys = OlmSession.Keys(
            identity: try fields.key(0x1A), base: try fields.key(0x12), oneTime: try fields.key(0x0A))
        inner = try fields.bytes(0x22)
        _ = try OlmNormalMessage(inner)
    }

    static func encoded(_ inner: [UInt8], _ keys: OlmSession.Keys) -> [UInt8] {
        var bytes = [messageVersion, 0x0A, 32] + keys.oneTime.bytes + [0x12, 32] + keys.base.bytes
        bytes += [0x1A, 32] + keys.identity.bytes + [0x22]
        Varint.append(UInt64(inner.count), to: &bytes)
        return bytes + inner
    }
}
