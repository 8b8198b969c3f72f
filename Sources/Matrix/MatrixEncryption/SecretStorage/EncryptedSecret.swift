package import JSONBytes

/// A secret as it lies in account data, where the server sees it.
///
/// Its type in the account data is its name, and part of how it is encrypted: moved to another name, it doesn't open. The IV
/// is under no code: check a key that came out of it against its public half before you use it.
package struct EncryptedSecret: Sendable, Equatable {
    /// 16 bytes.
    let iv: [UInt8]
    let ciphertext: [UInt8]
    /// 32 bytes.
    let mac: [UInt8]

    init(iv: [UInt8], ciphertext: [UInt8], mac: [UInt8]) {
        self.iv = iv
        self.ciphertext = ciphertext
        self.mac = mac
    }

    /// - Parameters:
    ///   - name: Of the secret, such as `m.cross_signing.master`.
    ///   - key: Of the storage: 32 bytes.
    package init(_ secret: SecretBytes, name: String, key: SecretBytes, random: RandomSource) {
        let keys = Keys(key, name)
        iv = Self.iv(random: random)
        ciphertext = AES256.ctr(secret, key: keys.aes, iv: iv).withUnsafeBytes { Array($0) }
        mac = KeyDerivation.hmac(key: keys.mac, ciphertext).withUnsafeBytes { Array($0) }
    }

    /// A key of 32 bytes, of which the text in base64 is stored.
    package init(key secret: SecretBytes, name: String, key: SecretBytes, random: RandomSource) {
        self.init(SecretBytes(UnpaddedBase64.encode(secret).utf8), name: name, key: key, random: random)
    }

    /// - Parameters:
    ///   - content: Of the account data: `{"encrypted": {"KEY": {…}}}`.
    ///   - keyID: The id of the storage's key.
    /// - Throws: `missingField` if it isn't stored under that key, and `base64`.
    package init(in content: JSONView, keyID: String) throws(EncryptionError) {
        guard let json = content["encrypted"]?[keyID] else { throw .missingField }
        try self.init(json)
    }

    /// - Throws: `missingField`, `base64`.
    package init(_ json: JSONView) throws(EncryptionError) {
        guard let iv = json["iv"]?.string, let ciphertext = json["ciphertext"]?.string, let mac = json["mac"]?.string
        else {
            throw .missingField
        }
        self.init(
            iv: try UnpaddedBase64.decode(iv), ciphertext: try UnpaddedBase64.decode(ciphertext),
            mac: try UnpaddedBase64.decode(mac))
    }

    package var json: JSONView {
        var object = JSONWriter()
        object.add("iv", UnpaddedBase64.encode(iv))
        object.add("ciphertext", UnpaddedBase64.encode(ciphertext))
        object.add("mac", UnpaddedBase64.encode(mac))
        return object.view
    }

    /// The content of the account data, with this secret under one key.
    package func content(keyID: String) -> JSONView {
        var keys = JSONWriter()
        keys.add(keyID, json)
        var content = JSONWriter()
        content.add("encrypted", keys)
        return content.view
    }

    /// - Parameter key: Of the storage: 32 bytes.
    /// - Throws: `mac` if key or name are others, or the secret is damaged.
    package func decrypt(name: String, key: SecretBytes) throws(EncryptionError) -> SecretBytes {
        let keys = Keys(key, name)
        guard iv.count == 16, KeyDerivation.isCode(mac, of: ciphertext, key: keys.mac, length: 32) else { throw .mac }
        return AES256.ctr(SecretBytes(ciphertext), key: keys.aes, iv: iv)
    }

    /// The key of 32 bytes whose text is stored.
    ///
    /// - Throws: As ``decrypt(name:key:)``; `base64` and `keyLength` if it holds something else.
    package func decryptKey(name: String, key: SecretBytes) throws(EncryptionError) -> SecretBytes {
        let text = try decrypt(name: name, key: key)
        let secret = try UnpaddedBase64.decodeSecret(text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        guard secret.count == 32 else { throw .keyLength }
        return secret
    }

    /// Whether the code is that of another secret, encrypted with the same IV.
    func isCode(ofPlaintext secret: SecretBytes, name: String, key: SecretBytes) -> Bool {
        let keys = Keys(key, name)
        let ciphertext = AES256.ctr(secret, key: keys.aes, iv: iv).withUnsafeBytes { Array($0) }
        return KeyDerivation.isCode(mac, of: ciphertext, key: keys.mac, length: 32)
    }

    /// 16 bytes with bit 63 cleared: some implementations count blocks in 63 bits.
    static func iv(random: RandomSource) -> [UInt8] {
        var iv = random.bytes(16)
        iv[8] &= 0x7F
        return iv
    }

    private struct Keys {
        let aes: SecretBytes
        let mac: SecretBytes

        init(_ key: SecretBytes, _ name: String) {
            let keys = KeyDerivation.hkdf(key, info: name, count: 64)
            (aes, mac) = (keys[0..<32], keys[32..<64])
        }
    }
}
