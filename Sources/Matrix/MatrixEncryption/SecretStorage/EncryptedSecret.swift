package import JSONBytes

/// A secret as stored in account data, visible to the server.
///
/// Its type in account data is its name, and part of the encryption: under another name it cannot be decrypted. The MAC
/// does not cover the IV, so check a decrypted key against its public half before use.
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
    ///   - name: The secret's name, such as `m.cross_signing.master`.
    ///   - key: The storage's key, 32 bytes.
    package init(_ secret: SecretBytes, name: String, key: SecretBytes, random: RandomSource) {
        let keys = Keys(key, name)
        iv = Self.iv(random: random)
        ciphertext = AES256.ctr(secret, key: keys.aes, iv: iv).withUnsafeBytes { Array($0) }
        mac = KeyDerivation.hmac(key: keys.mac, ciphertext).withUnsafeBytes { Array($0) }
    }

    /// Encrypts a key of 32 bytes, which is stored as base64 text.
    package init(key secret: SecretBytes, name: String, key: SecretBytes, random: RandomSource) {
        self.init(SecretBytes(UnpaddedBase64.encode(secret).utf8), name: name, key: key, random: random)
    }

    /// - Parameters:
    ///   - content: The content of the account data: `{"encrypted": {"KEY": {…}}}`.
    ///   - keyID: The id of the storage's key.
    /// - Throws: `missingField` if it is not stored under that key, and `base64`.
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

    /// Returns the content of the account data, with this secret under one key.
    package func content(keyID: String) -> JSONView {
        var keys = JSONWriter()
        keys.add(keyID, json)
        var content = JSONWriter()
        content.add("encrypted", keys)
        return content.view
    }

    /// - Parameter key: The storage's key, 32 bytes.
    /// - Throws: `mac` if the key or the name is wrong, or the secret is damaged.
    package func decrypt(name: String, key: SecretBytes) throws(EncryptionError) -> SecretBytes {
        let keys = Keys(key, name)
        guard iv.count == 16, KeyDerivation.isCode(mac, of: ciphertext, key: keys.mac, length: 32) else { throw .mac }
        return AES256.ctr(SecretBytes(ciphertext), key: keys.aes, iv: iv)
    }

    /// Returns the key of 32 bytes whose text is stored.
    ///
    /// - Throws: The errors of ``decrypt(name:key:)``; `base64` and `keyLength` if it contains something else.
    package func decryptKey(name: String, key: SecretBytes) throws(EncryptionError) -> SecretBytes {
        let text = try decrypt(name: name, key: key)
        let secret = try UnpaddedBase64.decodeSecret(text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        guard secret.count == 32 else { throw .keyLength }
        return secret
    }

    /// Returns whether the MAC is that of another secret, encrypted with the same IV.
    func isCode(ofPlaintext secret: SecretBytes, name: String, key: SecretBytes) -> Bool {
        let keys = Keys(key, name)
        let ciphertext = AES256.ctr(secret, key: keys.aes, iv: iv).withUnsafeBytes { Array($0) }
        return KeyDerivation.isCode(mac, of: ciphertext, key: keys.mac, length: 32)
    }

    /// Returns 16 bytes with bit 63 cleared, since some implementations count blocks in 63 bits.
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
