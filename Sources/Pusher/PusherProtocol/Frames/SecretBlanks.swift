import JSONBytes
import Transport

/// Redacts frames for display: blanks everything that signs or decrypts, and leaves the rest as on the wire.
///
/// - Members named `auth` and `shared_secret`, at any depth, and in JSON that is itself the text of a string.
/// - The application's key followed by a signature, anywhere.
/// - In server errors, which quote what was sent, in text that is not JSON, and in texts that mention such members:
///   anything long enough to be a signature or a key.
package struct SecretBlanks: Sendable {
    private let keyPrefix: [UInt8]

    /// - Parameter key: The application's key, which is not secret: `"auth":"key:…"` shows it.
    package init(key: String) {
        keyPrefix = Array("\(key):".utf8)
    }

    /// - Parameter frame: Any text message of the WebSocket.
    package func blanked(_ frame: String) -> String {
        let bytes = Array(frame.utf8)
        guard Self.isStructured(bytes) else { return String(decoding: words(bytes, sweeps: true), as: UTF8.self) }
        let event = JSONView(bytes)?["event"]?.string ?? ""
        let isError = event.hasPrefix("pusher") && event.contains("error")
        return String(decoding: json(bytes, sweeps: isError), as: UTF8.self)
    }

    // MARK: JSON

    private static let ellipsis = Array("…".utf8)
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// Returns whether this is a JSON value that can contain others.
    private static func isStructured(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first(where: { !isSpace($0) }),
            [quote, UInt8(ascii: "{"), UInt8(ascii: "[")].contains(first)
        else { return false }
        return JSONView.isJSON(bytes)
    }

    /// - Parameters:
    ///   - bytes: Valid JSON.
    ///   - sweeps: Whether to remove parts of texts that are long enough to be a secret.
    private func json(_ bytes: [UInt8], sweeps: Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == Self.quote else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let end = Self.endOfString(bytes, index)
            let colon = Self.skipSpace(bytes, end)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
                output += string(bytes[index..<end], sweeps: sweeps)
                index = end
                continue
            }
            let value = Self.skipSpace(bytes, colon + 1)
            let name = Self.text(bytes[index..<end])?.lowercased()
            output += string(bytes[index..<end], sweeps: false)
            output += bytes[end..<value]
            index = value
            if name == "auth" || name == "shared_secret" {
                index = Self.endOfValue(bytes, value)
                output += secret(bytes[value..<index])
            } else if name == "channel", bytes[value] == Self.quote {
                index = Self.endOfString(bytes, value)
                output += string(bytes[value..<index], sweeps: false)
            }
        }
        return output
    }

    /// Blanks a member's value that is a secret.
    private func secret(_ value: ArraySlice<UInt8>) -> [UInt8] {
        if value.elementsEqual("null".utf8) || value.elementsEqual(#""""#.utf8) { return Array(value) }
        let isSignature =
            value.first == Self.quote && Self.text(value)?.utf8.starts(with: keyPrefix) == true
        let shown = (isSignature ? String(decoding: keyPrefix, as: UTF8.self) : "") + "…"
        return Array(JSONString.quoted(shown).utf8)
    }

    /// Blanks secrets in a string, which includes its quotes.
    private func string(_ quoted: ArraySlice<UInt8>, sweeps: Bool) -> [UInt8] {
        guard let text = Self.text(quoted).map({ Array($0.utf8) }) else { return Array(#""…""#.utf8) }
        let blanked =
            Self.isStructured(text)
            ? json(text, sweeps: sweeps) : words(text, sweeps: sweeps || Self.speaksOfSecrets(text))
        // An unchanged string keeps its escapes.
        return blanked == text
            ? Array(quoted) : Array(JSONString.quoted(String(decoding: blanked, as: UTF8.self)).utf8)
    }

    private static func text(_ quoted: ArraySlice<UInt8>) -> String? {
        Array(quoted.dropFirst().dropLast()).withUnsafeBufferPointer { JSONString.text($0) }
    }

    private static func endOfString(_ bytes: [UInt8], _ start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != quote { index += bytes[index] == backslash ? 2 : 1 }
        return min(index + 1, bytes.count)
    }

    private static func endOfValue(_ bytes: [UInt8], _ start: Int) -> Int {
        var (index, depth) = (start, 0)
        while index < bytes.count {
            switch bytes[index] {
            case quote:
                index = endOfString(bytes, index)
                if depth == 0 { return index }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index }
                depth -= 1
                if depth == 0 { return index + 1 }
            case UInt8(ascii: ","):
                if depth == 0 { return index }
            default:
                if depth == 0, isSpace(bytes[index]) { return index }
            }
            index += 1
        }
        return index
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private static func skipSpace(_ bytes: [UInt8], _ start: Int) -> Int {
        var index = start
        while index < bytes.count, isSpace(bytes[index]) { index += 1 }
        return index
    }

    // MARK: Texts

    /// A signature has 64 characters, a key 44.
    private static let leastSecret = 40

    private static func speaksOfSecrets(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self).lowercased()
        return text.contains("auth") || text.contains("shared_secret")
    }

    private func words(_ text: [UInt8], sweeps: Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if keyPrefix.count > 1, text[index...].starts(with: keyPrefix) {
                let start = index + keyPrefix.count
                let end = text[start...].firstIndex { !$0.isHexadecimal } ?? text.count
                output += keyPrefix
                if end > start { output += Self.ellipsis }
                index = end
            } else if sweeps, text[index].isOfSecret {
                let end = text[index...].firstIndex { !$0.isOfSecret } ?? text.count
                output += end - index >= Self.leastSecret ? Self.ellipsis[...] : text[index..<end]
                index = end
            } else {
                output.append(text[index])
                index += 1
            }
        }
        return output
    }
}

extension UInt8 {
    fileprivate var isHexadecimal: Bool {
        switch asciiLowercased {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }

    /// Whether it is a hexadecimal digit or a base64 character.
    fileprivate var isOfSecret: Bool {
        switch asciiLowercased {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
