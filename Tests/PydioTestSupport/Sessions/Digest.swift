import CLibcrypto
import Transport

/// OpenSSL's digests.
enum Digest {
    static func md5(_ text: String) -> String { md5(Array(text.utf8)) }

    static func md5(_ bytes: [UInt8]) -> String {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        precondition(EVP_Digest(bytes, bytes.count, &result, &length, EVP_md5(), nil) == 1, "libcrypto has no MD5")
        return hexadecimal(result.prefix(Int(length)))
    }

    /// MD5 of what `next` gives until it gives nothing.
    static func md5(_ next: () -> [UInt8]) -> String {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        precondition(EVP_DigestInit_ex(context, EVP_md5(), nil) == 1, "libcrypto has no MD5")
        while case let piece = next(), !piece.isEmpty { EVP_DigestUpdate(context, piece, piece.count) }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        EVP_DigestFinal_ex(context, &result, &length)
        return hexadecimal(result.prefix(Int(length)))
    }

    static func hmacSHA256(key: String, message: String) -> String {
        let (key, message) = (Array(key.utf8), Array(message.utf8))
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        precondition(LibCrypto.isReady && !key.isEmpty, "libcrypto cannot be used")
        let done = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &result, &length)
        precondition(done != nil, "libcrypto has no SHA-256")
        return hexadecimal(result.prefix(Int(length)))
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Letters and digits.
    static func random(_ count: Int) -> String {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<count).map { _ in characters[Int.random(in: characters.indices)] })
    }
}
