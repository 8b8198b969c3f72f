import CVector

/// Escapes inside JSON strings (RFC 8259, section 7).
package enum JSONString {
    /// Returns a text in quotes, with as few escapes as JSON allows.
    package static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a text in quotes.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + text.utf8.count + 2)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x08: bytes += #"\b"#.utf8
            case 0x09: bytes += #"\t"#.utf8
            case 0x0A: bytes += #"\n"#.utf8
            case 0x0C: bytes += #"\f"#.utf8
            case 0x0D: bytes += #"\r"#.utf8
            case 0x00..<0x20:
                bytes += (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8
                bytes += String(byte, radix: 16).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the text of a string's contents, or nil if they contain an invalid escape.
    package static func text(_ inside: UnsafeBufferPointer<UInt8>) -> String? {
        guard let start = inside.baseAddress, has_backslash(start, UInt64(inside.count)) else {
            return String(decoding: inside, as: UTF8.self)
        }
        var index = 0
        while index < inside.count {
            guard inside[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            guard let width = escapeWidth(inside, at: index) else { return nil }
            index += width
        }
        return unescape(inside)
    }

    /// Returns the text of a JSON string.
    /// - Parameter inside: The bytes between the quotes, known to be well-formed.
    package static func unescape(_ inside: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: inside.count) { unescape(inside, into: $0) }
    }

    /// Writes the text as UTF-8 bytes, which are never more than the escaped ones.
    ///
    /// - Parameter output: At least as large as `inside`.
    /// - Returns: The number of bytes written.
    package static func unescape(
        _ inside: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        guard let from = inside.baseAddress, let to = output.baseAddress else { return 0 }
        var length = 0
        var index = 0
        while true {
            let plain = Int(copy_to_backslash(to + length, from + index, UInt64(inside.count - index)))
            (index, length) = (index + plain, length + plain)
            guard index < inside.count else { return length }
            if inside[index + 1] != UInt8(ascii: "u") {
                output[length] = unescaped(inside[index + 1])
                (index, length) = (index + 2, length + 1)
            } else {
                // At most four bytes of UTF-8 for a pair of twelve, and three for a single escape of six, so it fits.
                let (scalar, width) = self.scalar(inside, at: index)
                for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    output[length] = unit
                    length += 1
                }
                index += width
            }
        }
    }

    /// Returns the length in bytes of the escape that starts at `index`, or nil if there is none.
    package static func escapeWidth(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int? {
        guard index + 1 < bytes.count else { return nil }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return 2
        case UInt8(ascii: "u"):
            guard let first = hexadecimal(bytes, at: index + 2) else { return nil }
            if UTF16.isTrailSurrogate(first) { return nil }
            guard UTF16.isLeadSurrogate(first) else { return 6 }
            guard index + 12 <= bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
                bytes[index + 7] == UInt8(ascii: "u"), let second = hexadecimal(bytes, at: index + 8),
                UTF16.isTrailSurrogate(second)
            else { return nil }
            return 12
        default:
            return nil
        }
    }

    private static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> (Unicode.Scalar, width: Int) {
        let first = hexadecimal(bytes, at: index + 2) ?? 0
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        let second = hexadecimal(bytes, at: index + 8) ?? 0
        let value = 0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF))
        return (Unicode.Scalar(value) ?? "\u{FFFD}", 12)
    }

    private static func hexadecimal(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> UInt16? {
        guard start + 4 <= bytes.count else { return nil }
        var value: UInt16 = 0
        for byte in bytes[start..<start + 4] {
            guard let digit = digit(byte) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func unescaped(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: byte  // quote, backslash and slash represent themselves
        }
    }
}
