import JSONBytes

/// Formats JSON on several lines. Numbers, strings and the order of members stay unchanged.
enum PrettyJSON {
    /// The maximum indentation of nested values.
    private static let maximumIndent = 40

    /// - Returns: `nil` if the text is not an object or array.
    static func text(_ json: String) -> String? {
        let bytes = Array(json.utf8)
        guard let first = bytes.first(where: { !isSpace($0) }), first == brace || first == bracket,
            JSONView.isJSON(bytes)
        else { return nil }
        var (result, depth, index) = ([UInt8](), 0, 0)
        result.reserveCapacity(bytes.count * 2)
        func beginLine() {
            result.append(0x0A)
            result += repeatElement(0x20, count: min(2 * depth, maximumIndent))
        }
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case brace, bracket:
                result.append(byte)
                if let next = nextByte(bytes, after: index), bytes[next] == byte + 2 {
                    result.append(bytes[next])  // empty
                    index = next
                } else {
                    depth += 1
                    beginLine()
                }
            case brace + 2, bracket + 2:
                depth -= 1
                beginLine()
                result.append(byte)
            case UInt8(ascii: ","):
                result.append(byte)
                beginLine()
            case UInt8(ascii: ":"): result += [byte, 0x20]
            case UInt8(ascii: "\""):
                let end = endOfString(bytes, from: index)
                result += bytes[index..<end]
                index = end - 1
            default: if !isSpace(byte) { result.append(byte) }
            }
            index += 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let brace = UInt8(ascii: "{")
    private static let bracket = UInt8(ascii: "[")

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private static func nextByte(_ bytes: [UInt8], after index: Int) -> Int? {
        bytes[(index + 1)...].firstIndex { !isSpace($0) }
    }

    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }
}
