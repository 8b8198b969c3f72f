/// Splits untrusted HTML into tags and the text between them. Entities in the text are decoded.
///
/// Anything that is not a tag counts as text, including an unterminated tag. Comments and declarations are dropped. The
/// time is proportional to the text's length.
package struct HTMLScanner: Sequence, IteratorProtocol {
    package struct Tag: Sendable, Hashable {
        /// The name in lower case; empty for a comment.
        package var name = ""
        package var isEnd = false
        /// The attributes, with names in lower case. The first value of each is used.
        package var attributes: [String: String] = [:]
    }

    package enum Token: Sendable, Hashable {
        case text(String)
        case tag(Tag)
    }

    private let html: [UInt8]
    private var index = 0
    /// Set to false at the first tag that does not end, so that the rest is not searched again for each `<`.
    private var hasMoreTags = true

    package init(_ html: String) { self.html = Array(html.utf8) }

    package mutating func next() -> Token? {
        var text: [UInt8] = []
        while index < html.count {
            switch html[index] {
            case UInt8(ascii: "<") where hasMoreTags && Self.beginsTag(html[index...]):
                if !text.isEmpty { return .text(String(decoding: text, as: UTF8.self)) }
                guard let (tag, end) = Self.tag(html[index...]) else {
                    hasMoreTags = false
                    continue
                }
                index = end
                return .tag(tag)
            case UInt8(ascii: "&"):
                let (decoded, end) = Self.entity(html[index...])
                text += decoded
                index = end
            case let byte:
                text.append(byte)
                index += 1
            }
        }
        return text.isEmpty ? nil : .text(String(decoding: text, as: UTF8.self))
    }
}

extension HTMLScanner {
    // MARK: Tags

    private static func beginsTag(_ text: ArraySlice<UInt8>) -> Bool {
        guard let next = text.dropFirst().first else { return false }
        return isLetter(next) || next == UInt8(ascii: "/") || next == UInt8(ascii: "!") || next == UInt8(ascii: "?")
    }

    /// Returns the tag that `text` begins with and where it ends; `nil` if it does not end.
    private static func tag(_ text: ArraySlice<UInt8>) -> (Tag, end: Int)? {
        var rest = text.dropFirst()
        if rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "?") {
            return rest.firstIndex(of: UInt8(ascii: ">")).map { (Tag(), $0 + 1) }
        }
        var tag = Tag()
        if rest.first == UInt8(ascii: "/") {
            tag.isEnd = true
            rest.removeFirst()
        }
        tag.name = lowercased(take(&rest) { !isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") })
        while true {
            _ = take(&rest) { isSpace($0) || $0 == UInt8(ascii: "/") }
            guard let first = rest.first else { return nil }
            if first == UInt8(ascii: ">") { return (tag, rest.startIndex + 1) }
            guard let (name, value) = attribute(&rest) else { return nil }
            let key = lowercased(name[...])
            if tag.attributes[key] == nil {
                tag.attributes[key] = String(decoding: value, as: UTF8.self)
            }
        }
    }

    /// Returns the next attribute; `nil` if it does not end.
    private static func attribute(_ rest: inout ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8])? {
        // A leading "=" belongs to the name.
        var name = [rest.removeFirst()]
        name += take(&rest) {
            !isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "=")
        }
        _ = take(&rest, while: isSpace)
        guard rest.first == UInt8(ascii: "=") else { return (name, []) }
        rest.removeFirst()
        _ = take(&rest, while: isSpace)
        guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            return (name, decoded(take(&rest) { !isSpace($0) && $0 != UInt8(ascii: ">") }))
        }
        rest.removeFirst()
        let value = take(&rest) { $0 != quote }
        guard rest.popFirst() != nil else { return nil }
        return (name, decoded(value))
    }

    private static func take(_ rest: inout ArraySlice<UInt8>, while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: isWanted)
        rest = rest[taken.endIndex...]
        return taken
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// Lowercases ASCII letters.
    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(
            decoding: bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self
        )
    }

    // MARK: Entities

    private static let names: [[UInt8]: Character] = Dictionary(
        uniqueKeysWithValues: [
            ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", " "), ("hellip", "…"),
            ("ndash", "–"), ("mdash", "—"), ("lsquo", "‘"), ("rsquo", "’"), ("ldquo", "“"), ("rdquo", "”"),
            ("laquo", "«"), ("raquo", "»"), ("copy", "©"), ("reg", "®"), ("trade", "™"), ("euro", "€"),
            ("middot", "·"), ("bull", "•"), ("times", "×"), ("deg", "°"), ("larr", "←"), ("rarr", "→"),
        ].map { (name: String, character: Character) in (Array(name.utf8), character) })

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        var result: [UInt8] = []
        var rest = text
        while let byte = rest.first {
            guard byte == UInt8(ascii: "&") else {
                result.append(byte)
                rest.removeFirst()
                continue
            }
            let (decoded, end) = entity(rest)
            result += decoded
            rest = rest[end...]
        }
        return result
    }

    /// Returns the decoded entity that `text` begins with, and where it ends. If there is none, returns the ampersand.
    private static func entity(_ text: ArraySlice<UInt8>) -> (decoded: [UInt8], end: Int) {
        let name = text.dropFirst().prefix(12).prefix { $0 != UInt8(ascii: ";") }
        guard name.endIndex < text.endIndex, text[name.endIndex] == UInt8(ascii: ";"),
            let character = names[Array(name)] ?? numbered(name)
        else { return ([UInt8(ascii: "&")], text.startIndex + 1) }
        return (Array(String(character).utf8), name.endIndex + 1)
    }

    private static func numbered(_ entity: ArraySlice<UInt8>) -> Character? {
        guard entity.first == UInt8(ascii: "#") else { return nil }
        let digits = String(decoding: entity.dropFirst(), as: UTF8.self)
        let isHex = digits.first == "x" || digits.first == "X"
        return (isHex ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)).flatMap(Unicode.Scalar.init).map(
            Character.init)
    }
}
