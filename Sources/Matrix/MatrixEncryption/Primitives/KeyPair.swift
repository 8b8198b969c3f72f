import Basics
import CLibcrypto

/// A public key of 32 bytes.
package protocol PublicKeyBytes: Hashable, Sendable {
    var bytes: [UInt8] { get }

    /// - Parameter wellFormed: 32 bytes.
    init(wellFormed: [UInt8])
}

extension PublicKeyBytes {
    /// - Throws: `keyLength` if there are not 32 bytes.
    package init(_ bytes: some Collection<UInt8>) throws(EncryptionError) {
        guard bytes.count == 32 else { throw .keyLength }
        self.init(wellFormed: Array(bytes))
    }

    package init(base64: String) throws(EncryptionError) {
        try self.init(UnpaddedBase64.decode(base64))
    }

    package var base64: String { UnpaddedBase64.encode(bytes) }
}

/// A private key in libcrypto's form. Creating it takes as long as signing.
final class PrivateKey: @unchecked Sendable {
    // Unchecked: never changed after creation.
    let pointer: OpaquePointer?

    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - type: `EVP_PKEY_X25519` or `EVP_PKEY_ED25519`.
    init(_ secret: SecretBytes, _ type: Int32) {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        pointer = secret.withUnsafeBytes { EVP_PKEY_new_raw_private_key(type, nil, $0.bytes, 32) }
        precondition(pointer != nil, "libcrypto has no Curve25519")
    }

    deinit { EVP_PKEY_free(pointer) }  // this wipes it

    func publicKey<Key: PublicKeyBytes>() -> Key {
        var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
        let done = EVP_PKEY_get_raw_public_key(pointer, &bytes, &count)
        precondition(done == 1 && count == 32, "libcrypto has no Curve25519")
        return Key(wellFormed: bytes)
    }
}
