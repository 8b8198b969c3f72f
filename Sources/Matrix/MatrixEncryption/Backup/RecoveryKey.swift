/// The form in which a user writes down a key of 32 bytes: base58 in twelve groups of four, beginning with `Es`.
///
///     8B 01 key(32) parity
package enum RecoveryKey {
    private static let prefix: [UInt8] = [0x8B, 0x01]
    private static let alphabet = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".utf8)

    /// - Parameter key: 32 bytes.
    package static func text(of key: SecretBytes) -> String {
        precondition(key.count == 32, "a recovery key has 32 bytes")
        var bytes = prefix
        key.withUnsafeBytes { bytes += $0 }
        bytes.append(bytes.reduce(0, ^))
        let digits = base58(bytes).map { alphabet[$0] }
        return stride(from: 0, to: digits.count, by: 4).map { start in
            String(decoding: digits[start..<min(start + 4, digits.count)], as: UTF8.self)
        }.joined(separator: " ")
    }

    /// - Parameter text: The text. White space is ignored.
    /// - Throws: `base58` for an invalid character, `length` if it is not 35 bytes, `prefix` if it is something else,
    ///   `parity` for a typing error.
    package static func key(_ text: String) throws(EncryptionError) -> SecretBytes {
        var digits: [Int] = []
        for character in text.unicodeScalars where !character.properties.isWhitespace {
            guard let digit = alphabet.firstIndex(where: { UInt32($0) == character.value }) else { throw .base58 }
            digits.append(digit)
        }
        // Reject longer texts, which would take too long.
        guard digits.count <= 64 else { throw .length }
        let bytes = bytes(ofBase58: digits)
        guard bytes.count == 35 else { throw .length }
        guard bytes.starts(with: prefix) else { throw .prefix }
        guard bytes.reduce(0, ^) == 0 else { throw .parity }
        return SecretBytes(bytes[2..<34])
    }

    /// Returns the digits, the highest first.
    private static func base58(_ bytes: [UInt8]) -> [Int] { convert(bytes.map(Int.init), from: 256, to: 58) }

    private static func bytes(ofBase58 digits: [Int]) -> [UInt8] {
        convert(digits, from: 58, to: 256).map { UInt8(truncatingIfNeeded: $0) }
    }

    /// Converts a number to another base. As in base58, each leading zero is kept as one.
    private static func convert(_ digits: [Int], from base: Int, to other: Int) -> [Int] {
        var result: [Int] = []  // the lowest first
        for digit in digits {
            var carry = digit
            for index in result.indices {
                carry += result[index] * base
                result[index] = carry % other
                carry /= other
            }
            while carry > 0 {
                result.append(carry % other)
                carry /= other
            }
        }
        return digits.prefix { $0 == 0 } + result.reversed()
    }
}
