import CLibcrypto

/// OpenSSL's digests over byte arrays, and comparison in constant time.
package enum Digest {
    package static func md5(_ bytes: [UInt8]) -> [UInt8] {
        digest(bytes, EVP_md5())
    }

    /// Returns the MD5 digest of the pieces that `next` returns, until it returns nil or an empty one.
    package static func md5(pieces next: () throws -> [UInt8]?) rethrows -> [UInt8] {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        precondition(EVP_DigestInit_ex(context, EVP_md5(), nil) == 1, "libcrypto refused a digest")
        while let piece = try next(), !piece.isEmpty {
            precondition(EVP_DigestUpdate(context, piece, piece.count) == 1, "libcrypto refused a digest")
        }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        precondition(EVP_DigestFinal_ex(context, &result, &length) == 1, "libcrypto refused a digest")
        return Array(result.prefix(Int(length)))
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        digest(bytes, EVP_sha256())
    }

    /// Returns the HMAC (RFC 2104) with SHA-256. An empty key is allowed.
    package static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        // HMAC() interprets a null key as the key of the previous call, so an empty array must not become null.
        let key = key.isEmpty ? [0] : key
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let done = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &result, &length)
        precondition(done != nil, "libcrypto has no SHA-256")
        return Array(result.prefix(Int(length)))
    }

    /// Compares in constant time, wherever the first difference is.
    package static func areEqual(_ lhs: [UInt8], _ rhs: [UInt8]) -> Bool {
        lhs.count == rhs.count && CRYPTO_memcmp(lhs, rhs, lhs.count) == 0
    }

    private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let done = EVP_Digest(bytes, bytes.count, &result, &length, algorithm, nil)
        precondition(done == 1, "libcrypto refused a digest")
        return Array(result.prefix(Int(length)))
    }
}

extension [UInt8] {
    /// Two lowercase hexadecimal digits per byte.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
