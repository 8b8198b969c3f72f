/// Any text as the value of a NATS header, and back.
///
/// Servers and clients trim, replace and misread values: an empty one makes all headers unreadable (libnats 3.4.1), and the
/// text `Nats-Msg-Id` in one can switch the detection of duplicates off. So the bytes 20 to 7E stand for themselves, but for
/// `%` and for a space at either end; others are `%` and two upper-case hexadecimal digits, the empty text is `%`, and
/// `Nats-` is `Nats%2D`.
package enum HeaderValue {
    package static func encode(_ text: String) -> String {
        if isPlain(text) { return text }  // as most are
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

    /// Whether it stands for itself.
    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last, first != 0x20, last != 0x20 else { return false }
        return isSafe(text, allowing: isPlain)
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte <= 0x7E && byte != UInt8(ascii: "%") }

    /// Whether a text has only bytes that are allowed, and not the text `Nats-` in it.
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

    /// - Returns: Nil for what is not UTF-8, or escaped wrongly.
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
