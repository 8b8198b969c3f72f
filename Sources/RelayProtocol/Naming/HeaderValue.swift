/// Any text as the value of a NATS header, and back.
///
/// Servers and clients trim, replace and misread values: an empty one makes all headers unreadable (libnats 3.4.1), and the
/// text `Nats-Msg-Id` in one can switch the detection of duplicates off. So the bytes 20 to 7E stand for themselves, but for
/// `%` and for a space at either end; others are `%` and two upper-case hexadecimal digits, the empty text is `%`, and
/// `Nats-` is `Nats%2D`.
package enum HeaderValue {
    package static func encode(_ text: String) -> String {
        guard !text.isEmpty else { return "%" }
        let bytes = Array(text.utf8)
        var value = ""
        for (index, byte) in bytes.enumerated() {
            let isEdge = index == 0 || index == bytes.count - 1
            let isPlain = (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "%") && !(byte == 0x20 && isEdge)
            if isPlain {
                value.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                value += "%" + Hex.text(byte)
            }
        }
        return value.replacing("Nats-", with: "Nats%2D")
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
