import CLibcrypto
import Glibc

/// Base64 with padding (RFC 4648, section 4), from bytes to bytes. Foundation's needs two copies.
enum Base64 {
    /// Returns the bytes of a text; `nil` unless it is pure base64.
    static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard !text.isEmpty, let start = text.baseAddress else { return [] }
        guard text.count % 4 == 0, text.count <= Int(Int32.max) else { return nil }
        var padding = 0
        while padding < 2, text[text.count - 1 - padding] == UInt8(ascii: "=") { padding += 1 }
        // libcrypto accepts padding anywhere, and skips white space at both ends, which yields fewer bytes.
        guard memchr(start, Int32(UInt8(ascii: "=")), text.count - padding) == nil else { return nil }
        let size = text.count / 4 * 3
        var written: Int32 = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { output, count in
            written = EVP_DecodeBlock(output.baseAddress, start, Int32(text.count))
            count = Int(written) == size ? size - padding : 0
        }
        return Int(written) == size ? bytes : nil
    }
}
