// The server has its own JSON code, so that client and server check each other.
import Foundation

/// A JSON object whose members can be read as values and as their original text.
///
/// Client events and `user_info` are forwarded as text, which preserves numbers beyond 2^53 and the order of keys.
struct JSONObject {
    private let values: [String: Any]
    private let texts: [String: String]

    /// Returns `nil` unless `text` is one JSON object; white space around it is allowed.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let values = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let texts = Self.memberTexts(of: bytes), texts.count == values.count
        else { return nil }
        self.values = values
        self.texts = texts
    }

    var isEmpty: Bool { texts.isEmpty }
    var names: [String] { texts.keys.sorted() }

    func string(_ name: String) -> String? { values[name] as? String }
    func array(_ name: String) -> [Any]? { values[name] as? [Any] }
    func has(_ name: String) -> Bool { texts[name] != nil }
    func isNull(_ name: String) -> Bool { texts[name] == "null" }
    func text(_ name: String) -> String? { texts[name] }
    func object(_ name: String) -> JSONObject? { texts[name].flatMap(JSONObject.init) }

    /// Returns the elements of an array member as objects; `nil` if one is not an object.
    func objects(_ name: String) -> [JSONObject]? {
        guard let elements = array(name) else { return nil }
        var result: [JSONObject] = []
        for element in elements {
            guard let data = try? JSONSerialization.data(withJSONObject: element, options: .fragmentsAllowed),
                let object = JSONObject(String(decoding: data, as: UTF8.self))
            else { return nil }
            result.append(object)
        }
        return result
    }

    /// Splits well-formed `bytes` at the members of the outermost object. Returns `nil` if the structure is unexpected.
    private static func memberTexts(of bytes: [UInt8]) -> [String: String]? {
        var scanner = JSONScanner(bytes)
        guard scanner.skip(UInt8(ascii: "{")) else { return nil }
        var members: [String: String] = [:]
        if scanner.skip(UInt8(ascii: "}")) { return members }
        repeat {
            guard let name = scanner.value(), let key = unquoted(name), scanner.skip(UInt8(ascii: ":")),
                let value = scanner.value()
            else { return nil }
            members[key] = String(decoding: value, as: UTF8.self)
        } while scanner.skip(UInt8(ascii: ","))
        return scanner.skip(UInt8(ascii: "}")) ? members : nil
    }

    private static func unquoted(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.quickIndex(of: UInt8(ascii: "\\")) != nil else {
            return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) as? String
    }
}

/// Skips over the values of a JSON text that a parser has already accepted.
private struct JSONScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Skips white space and then `byte`, if it is next.
    mutating func skip(_ byte: UInt8) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// Returns the text of the next value, of any type.
    mutating func value() -> ArraySlice<UInt8>? {
        skipSpace()
        let start = position
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                skipString()
                if depth == 0 { return bytes[start..<position] }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return scalar(from: start) }
                depth -= 1
                if depth == 0 {
                    position += 1
                    return bytes[start..<position]
                }
            case UInt8(ascii: ","), UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
                if depth == 0 { return scalar(from: start) }
            default: break
            }
            position += 1
        }
        return scalar(from: start)
    }

    private func scalar(from start: Int) -> ArraySlice<UInt8>? {
        start < position ? bytes[start..<position] : nil
    }

    private mutating func skipString() {
        repeat {
            position = bytes[(position + 1)...].quickIndex(of: UInt8(ascii: "\"")) ?? bytes.count
        } while position < bytes.count && isEscaped(position)
        position = min(position + 1, bytes.count)
    }

    private func isEscaped(_ position: Int) -> Bool {
        var start = position
        while start > 0, bytes[start - 1] == UInt8(ascii: "\\") { start -= 1 }
        return (position - start) % 2 == 1
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[position]) { position += 1 }
    }
}
