package import Basics
package import JSONBytes

/// The backup of room keys on the homeserver. Anyone with the public key can add to it; the private key reads it.
///
/// Nothing proves who wrote an entry, and a damaged one can go unnoticed, because its MAC covers nothing. The contents
/// of a backup are claims, never proof of who sent a message.
package enum KeyBackup {
    package static let algorithm = "m.megolm_backup.v1.curve25519-aes-sha2"

    /// - Parameter session: See ``ExportedSession``.
    /// - Returns: The `session_data`.
    /// - Throws: `lowOrder` if the public key is unsuitable for encryption.
    package static func encrypt(
        _ session: SecretBytes, for publicKey: Curve25519PublicKey, random: RandomSource
    ) throws(EncryptionError) -> JSONView {
        let ephemeral = Curve25519KeyPair(random: random)
        let keys = Keys(try ephemeral.sharedSecret(with: publicKey))
        var data = JSONWriter()
        data.add("ephemeral", ephemeral.publicKey.base64)
        data.add("ciphertext", UnpaddedBase64.encode(AES256.encryptCBC(session, key: keys.aes, iv: keys.iv)))
        data.add("mac", UnpaddedBase64.encode(KeyDerivation.hmac(key: keys.mac, [])[0..<8]))
        return data.view
    }

    /// - Parameter data: The `session_data`.
    /// - Throws: `missingField`, `base64`, `keyLength`, `lowOrder`; `mac` if it was encrypted for another key;
    ///   `padding`. Never report these errors to the server.
    package static func decrypt(
        _ data: JSONView, with pair: Curve25519KeyPair
    ) throws(EncryptionError) -> SecretBytes {
        guard let ephemeral = data["ephemeral"]?.string, let ciphertext = data["ciphertext"]?.string,
            let mac = data["mac"]?.string
        else { throw .missingField }
        let keys = Keys(try pair.sharedSecret(with: Curve25519PublicKey(base64: ephemeral)))
        // The MAC of the empty text: an old mistake that all implementations share.
        guard KeyDerivation.isCode(try UnpaddedBase64.decode(mac), of: [], key: keys.mac, length: 8) else { throw .mac }
        return try AES256.decryptCBC(UnpaddedBase64.decode(ciphertext), key: keys.aes, iv: keys.iv)
    }

    private struct Keys {
        let aes: SecretBytes
        let mac: SecretBytes
        let iv: SecretBytes

        init(_ secret: SecretBytes) {
            let keys = KeyDerivation.hkdf(secret, info: "", count: 80)
            (aes, mac, iv) = (keys[0..<32], keys[32..<64], keys[64..<80])
        }
    }
}

/// The authentication data of a backup version: its public key and signatures.
package struct KeyBackupAuthData: Sendable, Equatable {
    package let publicKey: Curve25519PublicKey
    /// The whole object, with unknown members and all signatures.
    package let json: JSONView

    /// - Throws: `keys` if there is no public key of 32 bytes.
    package init(_ json: JSONView) throws(EncryptionError) {
        guard let publicKey = json["public_key"]?.string.flatMap({ try? Curve25519PublicKey(base64: $0) }) else {
            throw .keys
        }
        self.publicKey = publicKey
        self.json = json.detached
    }

    /// Creates the data of a backup of our own, not yet signed.
    package init(publicKey: Curve25519PublicKey) {
        var object = JSONWriter()
        object.add("public_key", publicKey.base64)
        self.publicKey = publicKey
        json = object.view
    }

    /// Returns the data with an additional signature.
    ///
    /// - Parameters:
    ///   - user: The owner of the backup.
    ///   - keyID: `ed25519:` and a device id or the user's public master key.
    package func signed(
        by pair: Ed25519KeyPair, user: String, keyID: String
    ) throws(EncryptionError) -> KeyBackupAuthData {
        try KeyBackupAuthData(SignedJSON.sign(json, with: pair, user: user, keyID: keyID))
    }

    /// Returns whether keys may be written to this backup.
    ///
    /// - Parameters:
    ///   - user: The owner of the backup.
    ///   - trusted: Trusted keys by key id: the user's verified master key, and those of the user's verified devices.
    ///   - privateKey: The backup's private key, if available.
    package func isTrusted(
        user: String, trusted: [ByteKey: Ed25519PublicKey], privateKey: Curve25519KeyPair? = nil
    ) -> Bool {
        if let privateKey, privateKey.publicKey == publicKey { return true }
        return trusted.contains { id, key in
            (try? SignedJSON.verify(json, with: key, user: user, keyID: id.string)) != nil
        }
    }
}
