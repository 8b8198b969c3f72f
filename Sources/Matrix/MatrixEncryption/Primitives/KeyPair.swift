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

/// A private key as libcrypto keeps it: to make it takes as long as to sign.
final class PrivateKey: @unchecked Sendable {
    // Unchecked: nothing changes it once it is made.
    let pointer: OpaquePointer?

    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - type: `EVP_PKEY_X25519` or `EVP_PKEY_ED25519`.
    init(_ secret: SecretBytes, _ type: Int32) {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        pointer = secret.withUnsafeBytes { EVP_PKEY_new_raw_private_key(type, nil, $0.bytes, 32) }
        precondition(pointer != nil, "libcrypto has no Curve25519")
    }

    deinit { EVP_PKEY_free(pointer) }  // which wipes it

    func publicKey<Key: PublicKeyBytes>() -> Key {
        var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
        let done = EVP_PKEY_get_raw_public_key(pointer, &bytes, &count)
        precondition(done == 1 && count == 32, "libcrypto has no Curve25519")
        return Key(wellFormed: bytes)
    }
}
