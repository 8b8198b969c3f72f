/// Encodes any text as the value of a NATS header, and decodes it.
///
/// Servers and clients trim, replace and misread values: an empty one makes all headers unreadable (libnats 3.4.1), and
/// the text `Nats-Msg-Id` in one can switch off the detection of duplicates. Therefore only the bytes 20 to 7E are
/// unchanged, except for `%` and a space at either end. Other bytes become `%` and two uppercase hexadecimal digits,
/// the empty text becomes `%`, and `Nats-` becomes `Nats%2D`.
package enum HeaderValue {
    package static func encode(_ text: String) -> String {
        if isPlain(text) { return text }  // the most common case
        guard !text.isEmpty else { return "%" }
        let bytes = Array(text.utf8)
        var value: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isEdge = index == 0 || index == bytes.count - 1
            let isMark = byte == UInt8(ascii: "-") && bytes[..<index].suffix(4).elementsEqual("Nats".utf8)
            if isPlain(byte), !(byte == 0x20 && isEdge), !isMark {
                value.append(byte)
            } else {
                value += [UInt8(ascii: "%"), Hex.digits[Int(byte >> 4)], Hex.digits[Int(byte & 15)]]
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Returns whether encoding leaves the text unchanged.
    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last, first != 0x20, last != 0x20 else { return false }
        return isSafe(text, allowing: isPlain)
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte <= 0x7E && byte != UInt8(ascii: "%") }

    /// Returns whether a text contains only allowed bytes, and not the text `Nats-`.
    package static func isSafe(_ text: String, allowing isAllowed: (UInt8) -> Bool) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            for index in bytes.indices {
                guard isAllowed(bytes[index]) else { return false }
                if bytes[index] == UInt8(ascii: "-"), bytes[..<index].suffix(4).elementsEqual("Nats".utf8) {
                    return false
                }
            }
            return true
        }
    }

    /// - Returns: The text; nil if it is not UTF-8 or is escaped incorrectly.
    package static func decode(_ value: String) -> String? {
        guard value != "%" else { return "" }
        var bytes: [UInt8] = []
        var rest = Array(value.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? { Hex.digits.firstIndex(of: byte).map { UInt8($0) } }
}
