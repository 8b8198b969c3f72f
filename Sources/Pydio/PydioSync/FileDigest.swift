import Basics
import Foundation
import PydioSDK

enum FileDigest {
    private static let pieceSize = 1 << 20

    /// Returns the MD5 of a file in lower-case hexadecimal digits: the hash that servers use.
    static func md5(ofFile path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw PydioError.ofFile("\(path) cannot be read", errno: errno) }
        defer { close(descriptor) }
        var piece = [UInt8](repeating: 0, count: pieceSize)
        return try Digest.md5(pieces: {
            guard !Task.isCancelled else { throw PydioError.cancelled }
            while true {
                let count = read(descriptor, &piece, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw PydioError.ofFile("\(path) cannot be read", errno: errno) }
                return Array(piece.prefix(count))
            }
        }).hexadecimal
    }
}
