import Basics
import CLibcrypto

/// 32 bytes that anybody may see.
package protocol PublicKeyBytes: Hashable, Sendable {
    var bytes: [UInt8] { get }

    /// - Parameter wellFormed: 32 bytes.
    init(wellFormed: [UInt8])
}

extension PublicKeyBytes {
    /// - Throws: `keyLength` unless there are 32.
    package init(_ bytes: some Collection<UInt8>) throws(EncryptionError) {
        guard bytes.count == 32 else { throw .keyLength }
        self.init(wellFormed: Array(bytes))
    }

    package init(base64: String) throws(EncryptionError) {
        try self.init(UnpaddedBase64.decode(base64))
    }

    package var base64: String { UnpaddedBase64.encode(bytes) }
}

/// What both curves have in common in libcrypto.
enum KeyPair {
    /// - Parameter secret: 32 bytes.
    static func key(_ secret: SecretBytes, _ type: Int32) -> OpaquePointer? {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let key = secret.withUnsafeBytes { EVP_PKEY_new_raw_private_key(type, nil, $0.bytes, 32) }
        precondition(key != nil, "libcrypto has no Curve25519")
        return key
    }

    static func publicKey<Key: PublicKeyBytes>(of secret: SecretBytes, _ type: Int32) -> Key {
        let key = key(secret, type)
        defer { EVP_PKEY_free(key) }
        var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
        let done = EVP_PKEY_get_raw_public_key(key, &bytes, &count)
        precondition(done == 1 && count == 32, "libcrypto has no Curve25519")
        return Key(wellFormed: bytes)
    }
}
