import Basics
import CLibcrypto

/// An X25519 public key (RFC 7748).
package struct Curve25519PublicKey: PublicKeyBytes {
    package let bytes: [UInt8]

    package init(wellFormed bytes: [UInt8]) { self.bytes = bytes }
}

/// An X25519 key pair.
package struct Curve25519KeyPair: Sendable, Equatable {
    /// 32 random bytes, not clamped.
    package let privateKey: SecretBytes
    package let publicKey: Curve25519PublicKey
    private let key: PrivateKey

    package init(random: RandomSource) {
        self.init(wellFormed: random.secret(32))
    }

    /// - Throws: `keyLength` if there are not 32 bytes.
    package init(privateKey: SecretBytes) throws(EncryptionError) {
        guard privateKey.count == 32 else { throw .keyLength }
        self.init(wellFormed: privateKey)
    }

    private init(wellFormed privateKey: SecretBytes) {
        self.privateKey = privateKey
        key = PrivateKey(privateKey, EVP_PKEY_X25519)
        publicKey = key.publicKey()
    }

    package static func == (lhs: Curve25519KeyPair, rhs: Curve25519KeyPair) -> Bool { lhs.privateKey == rhs.privateKey }

    /// - Throws: `lowOrder` if the result is zero, as with 12 public keys, whatever the private key.
    package func sharedSecret(with other: Curve25519PublicKey) throws(EncryptionError) -> SecretBytes {
        guard let peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, other.bytes, 32) else { throw .keyLength }
        defer { EVP_PKEY_free(peer) }
        let context = EVP_PKEY_CTX_new(key.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        return try SecretBytes(count: 32) { secret throws(EncryptionError) in
            var count = 32
            guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
                EVP_PKEY_derive(context, secret.bytes, &count) == 1, count == 32
            else { throw .lowOrder }
        }
    }
}
