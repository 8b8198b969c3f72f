/// Base64 in Matrix's form: without padding (RFC 4648, section 4; in JSON web keys section 5).
///
/// The decoder accepts correct padding. It refuses other characters and set unused bits, so that a value has only one
/// encoding apart from the padding. Both directions avoid tables, whose timing reveals secrets.
package enum UnpaddedBase64 {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        Array(bytes).withUnsafeBytes { encode($0, forURL: false) }
    }

    package static func encode(_ secret: SecretBytes) -> String {
        secret.withUnsafeBytes { encode($0, forURL: false) }
    }

    /// Encodes with `-` and `_`, for JSON web keys.
    package static func encodeForURL(_ secret: SecretBytes) -> String {
        secret.withUnsafeBytes { encode($0, forURL: true) }
    }

    package static func decode(_ text: String) throws(EncryptionError) -> [UInt8] {
        try decodeSecret(text).withUnsafeBytes { Array($0) }
    }

    package static func decodeSecret(_ text: String) throws(EncryptionError) -> SecretBytes {
        let text = try digits(of: text)
        return try SecretBytes(count: text.count * 3 / 4) { buffer throws(EncryptionError) in
            try decode(text, into: buffer, forURL: false)
        }
    }

    /// Decodes the characters of both alphabets.
    package static func decodeSecretForURL(_ text: String) throws(EncryptionError) -> SecretBytes {
        let text = try digits(of: text)
        return try SecretBytes(count: text.count * 3 / 4) { buffer throws(EncryptionError) in
            try decode(text, into: buffer, forURL: true)
        }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer, forURL: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + 4)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | UInt32(byte), count + 8)
            while count >= 6 {
                count -= 6
                text.append(digit(Int(bits >> count & 63), forURL))
            }
        }
        if count > 0 { text.append(digit(Int(bits << (6 - count) & 63), forURL)) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the text without padding.
    private static func digits(of text: String) throws(EncryptionError) -> ArraySlice<UInt8> {
        let padded = Array(text.utf8)
        let padding = padded.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let digits = padded.dropLast(padding)
        guard digits.count % 4 != 1, padding == 0 || padded.count % 4 == 0 else { throw .base64 }
        return digits
    }

    private static func decode(
        _ digits: ArraySlice<UInt8>, into bytes: UnsafeMutableRawBufferPointer, forURL: Bool
    ) throws(EncryptionError) {
        var (bits, count, written): (UInt32, UInt32, Int) = (0, 0, 0)
        var wrong = 0
        for digit in digits {
            let value = value(digit, forURL)
            wrong |= value  // stays negative once one is
            (bits, count) = (bits << 6 | UInt32(truncatingIfNeeded: value & 63), count + 6)
            if count >= 8 {
                count -= 8
                bytes[written] = UInt8(truncatingIfNeeded: bits >> count)
                written += 1
            }
        }
        guard wrong >= 0, bits & (1 << count - 1) == 0 else { throw .base64 }
    }

    /// Returns all bits set if `lower <= value`.
    private static func mask(_ lower: Int, _ value: Int) -> Int { (lower - 1 - value) >> 63 }

    private static func digit(_ value: Int, _ forURL: Bool) -> UInt8 {
        var digit = value + 65  // A
        digit += mask(26, value) & 6  // a
        digit -= mask(52, value) & 75  // 0
        digit -= mask(62, value) & (forURL ? 13 : 15)  // - or +
        digit += mask(63, value) & (forURL ? 49 : 3)  // _ or /
        return UInt8(truncatingIfNeeded: digit)
    }

    /// Returns the value of a digit, or -1 if it is invalid.
    private static func value(_ digit: UInt8, _ forURL: Bool) -> Int {
        let digit = Int(digit)
        func range(_ first: Unicode.Scalar, _ last: Unicode.Scalar, value: Int) -> Int {
            let (first, last) = (Int(first.value), Int(last.value))
            return mask(first, digit) & ~mask(last + 1, digit) & (digit - first + value + 1)
        }
        var value = range("A", "Z", value: 0) + range("a", "z", value: 26) + range("0", "9", value: 52)
        value += range("+", "+", value: 62) + range("/", "/", value: 63)
        if forURL { value += range("-", "-", value: 62) + range("_", "_", value: 63) }
        return value - 1
    }
}
