import Basics
import CLibcrypto
import CLibsodium

/// An Ed25519 public key (RFC 8032).
package struct Ed25519PublicKey: PublicKeyBytes {
    package let bytes: [UInt8]

    package init(wellFormed bytes: [UInt8]) { self.bytes = bytes }

    private static let isReady = sodium_init() >= 0

    /// Uses libsodium: libcrypto 3.0 accepts public keys of low order, for which one signature fits any message.
    ///
    /// - Throws: `signature`.
    package func verify(_ signature: [UInt8], of message: [UInt8]) throws(EncryptionError) {
        precondition(Self.isReady, "libsodium cannot be used")
        guard signature.count == 64,
            crypto_sign_verify_detached(signature, message, UInt64(message.count), bytes) == 0
        else { throw .signature }
    }
}

/// An Ed25519 key pair.
package struct Ed25519KeyPair: Sendable, Equatable {
    /// 32 bytes.
    package let seed: SecretBytes
    package let publicKey: Ed25519PublicKey
    private let key: PrivateKey

    package init(random: RandomSource) {
        self.init(wellFormed: random.secret(32))
    }

    /// - Throws: `keyLength` if there are not 32 bytes.
    package init(seed: SecretBytes) throws(EncryptionError) {
        guard seed.count == 32 else { throw .keyLength }
        self.init(wellFormed: seed)
    }

    private init(wellFormed seed: SecretBytes) {
        self.seed = seed
        key = PrivateKey(seed, EVP_PKEY_ED25519)
        publicKey = key.publicKey()
    }

    package static func == (lhs: Ed25519KeyPair, rhs: Ed25519KeyPair) -> Bool { lhs.seed == rhs.seed }

    /// Returns the signature, 64 bytes.
    package func signature(of message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var (signature, count) = ([UInt8](repeating: 0, count: 64), 64)
        let done =
            EVP_DigestSignInit(context, nil, nil, nil, key.pointer) == 1
            && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        precondition(done && count == 64, "libcrypto has no Ed25519")
        return signature
    }
}
