import Basics
import CLibcrypto
import Foundation
import PydioSDK

enum FileDigest {
    private static let pieceSize = 1 << 20

    /// MD5 of a file in lower-case hexadecimal digits: the hash that servers make.
    static func md5(ofFile path: String) throws(PydioError) -> String {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .ofFile("\(path) cannot be read", errno: errno) }
        defer { close(descriptor) }
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        precondition(EVP_DigestInit_ex(context, EVP_md5(), nil) == 1, "libcrypto has no MD5")
        var piece = [UInt8](repeating: 0, count: pieceSize)
        while true {
            guard !Task.isCancelled else { throw .cancelled }
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .ofFile("\(path) cannot be read", errno: errno) }
            guard count > 0 else { break }
            EVP_DigestUpdate(context, piece, count)
        }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        EVP_DigestFinal_ex(context, &result, &length)
        return Array(result.prefix(Int(length))).hexadecimal
    }
}
