import Basics
import CLibcrypto

/// An incremental SHA-256.
package struct SHA256: ~Copyable, @unchecked Sendable {
    // Unchecked: both the value and the object it points to have one owner.
    private let context: OpaquePointer?

    package init() {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        context = EVP_MD_CTX_new()
        precondition(EVP_DigestInit_ex(context, Algorithms.sha256, nil) == 1, "libcrypto has no SHA-256")
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(_ bytes: [UInt8]) {
        precondition(EVP_DigestUpdate(context, bytes, bytes.count) == 1, "libcrypto has no SHA-256")
    }

    /// Returns the digest, 32 bytes.
    package consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        precondition(EVP_DigestFinal_ex(context, &digest, nil) == 1, "libcrypto has no SHA-256")
        return digest
    }
}
