import Basics
import CLibcrypto

extension Digest {
    /// In hexadecimal digits.
    static func md5(_ text: String) -> String { md5(Array(text.utf8)).hexadecimal }

    /// The MD5 digest of all pieces that `next` returns, in hexadecimal digits.
    static func md5(_ next: () -> [UInt8]) -> String {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        precondition(EVP_DigestInit_ex(context, EVP_md5(), nil) == 1, "libcrypto has no MD5")
        while case let piece = next(), !piece.isEmpty { EVP_DigestUpdate(context, piece, piece.count) }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        EVP_DigestFinal_ex(context, &result, &length)
        return Array(result.prefix(Int(length))).hexadecimal
    }

    /// Random letters and digits.
    static func random(_ count: Int) -> String {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<count).map { _ in characters[Int.random(in: characters.indices)] })
    }
}
