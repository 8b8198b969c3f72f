import Basics

/// Encodes any name as one token of a NATS subject, reversibly. The token is also a valid key of a bucket.
///
/// Letters, digits, `-` and `_` are unchanged. Every other byte of the UTF-8 becomes `=` and two uppercase hexadecimal
/// digits, and the empty name becomes `=`. A token longer than ``maximumLength`` is replaced by its digest, which
/// cannot be decoded: a header then contains the full name.
package enum SubjectToken {
    /// The maximum length of a token in bytes.
    package static let maximumLength = 128

    package static func encode(_ name: String) -> String {
        let bytes = name.utf8
        if !bytes.isEmpty, bytes.count <= maximumLength, bytes.allSatisfy(isPlain) { return name }  // the usual case
        let token = escape(Array(bytes))
        return token.utf8.count <= maximumLength ? token : digest(of: name)
    }

    /// Returns whether a token from ``encode(_:)`` is a digest.
    package static func isDigest(_ token: String) -> Bool { token.hasPrefix("=~") }

    /// - Returns: The name; nil for a digest or a token that ``encode(_:)`` does not produce.
    package static func decode(_ token: String) -> String? {
        guard token != "=" else { return "" }
        guard !token.isEmpty else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(token.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                guard isPlain(byte) else { return nil }
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(value), let low = rest.popFirst().flatMap(value) else {
                return nil
            }
            let value = high << 4 | low
            guard !isPlain(value) else { return nil }
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    static func escape(_ bytes: [UInt8]) -> String {
        guard !bytes.isEmpty else { return "=" }
        var token: [UInt8] = []
        for byte in bytes {
            if isPlain(byte) {
                token.append(byte)
            } else {
                token += [UInt8(ascii: "="), Hex.digits[Int(byte >> 4)], Hex.digits[Int(byte & 15)]]
            }
        }
        return String(decoding: token, as: UTF8.self)
    }

    private static func digest(of name: String) -> String {
        "=~" + Digest.sha256(Array(name.utf8)).prefix(16).map { Hex.text($0) }.joined().lowercased()
    }

    /// Returns whether encoding leaves the byte unchanged.
    package static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func value(_ digit: UInt8) -> UInt8? { Hex.digits.firstIndex(of: digit).map { UInt8($0) } }
}

enum Hex {
    static let digits = Array("0123456789ABCDEF".utf8)
    static let lowerDigits = Array("0123456789abcdef".utf8)

    static func text(_ byte: UInt8) -> String {
        String(decoding: [digits[Int(byte >> 4)], digits[Int(byte & 15)]], as: UTF8.self)
    }
}
