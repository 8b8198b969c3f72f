/// HTML as text, for those who read no HTML.
///
/// The time is proportional to the text's length.
package enum HTMLText {
    /// Without the tags, blocks on lines of their own, with entities as what they stand for, and with spoilers hidden:
    /// `[spoiler]`, or `[spoiler: reason]`.
    package static func plain(_ html: String) -> String {
        var reader = Reader(html: Array(html.utf8))
        return reader.text()
    }

    /// Whether it may hide something until somebody asks to see it.
    static func mayHaveSpoilers(_ html: String) -> Bool { html.lowercased().utf8Range(of: "data-mx-spoiler") != nil }
}

extension HTMLText {
    private struct Tag {
        /// In lower case.
        var name: [UInt8]
        var isEnd = false
        /// Why its element is hidden, perhaps empty; nil if it is not.
        var spoiler: [UInt8]?
    }

    private struct Reader {
        let html: [UInt8]
        private var index = 0
        private var output: [UInt8] = []
        /// The element whose content is hidden, and how many of its name are open in it.
        private var hidden: (name: [UInt8], depth: Int)?
        /// No tag ends from here on, so that the rest need not be searched again for each `<`.
        private var hasMoreTags = true

        init(html: [UInt8]) { self.html = html }

        mutating func text() -> String {
            output.reserveCapacity(html.count)
            while index < html.count {
                switch html[index] {
                case UInt8(ascii: "<"): readTag()
                case UInt8(ascii: "&"):
                    let (decoded, end) = HTMLText.entity(html[index...])
                    write(decoded)
                    index = end
                case let byte:
                    write(CollectionOfOne(byte))
                    index += 1
                }
            }
            while let last = output.last, last == 0x0A || last == 0x0D { output.removeLast() }
            return String(decoding: output, as: UTF8.self)
        }

        private mutating func write(_ text: some Sequence<UInt8>) {
            if hidden == nil { output += text }
        }

        private mutating func readTag() {
            guard hasMoreTags, HTMLText.beginsTag(html[index...]) else {
                write(CollectionOfOne(html[index]))
                index += 1
                return
            }
            guard let (tag, end) = HTMLText.tag(html[index...]) else {
                hasMoreTags = false
                return
            }
            index = end
            if let hidden {
                guard tag.name == hidden.name else { return }
                let depth = hidden.depth + (tag.isEnd ? -1 : 1)
                self.hidden = depth == 0 ? nil : (hidden.name, depth)
                return
            }
            if HTMLText.blocks.contains(tag.name), !output.isEmpty, output.last != 0x0A { output.append(0x0A) }
            guard let reason = tag.spoiler, !tag.isEnd else { return }
            output += reason.isEmpty ? Array("[spoiler]".utf8) : "[spoiler: ".utf8 + reason + "]".utf8
            hidden = (tag.name, 1)
        }
    }

    private static let blocks = Set(
        ["br", "p", "div", "li", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6"].map { Array($0.utf8) })

    // MARK: Tags

    private static func beginsTag(_ text: ArraySlice<UInt8>) -> Bool {
        guard let next = text.dropFirst().first else { return false }
        return isLetter(next) || next == UInt8(ascii: "/") || next == UInt8(ascii: "!") || next == UInt8(ascii: "?")
    }

    /// The tag that `text` begins with, and where it ends; nil if it does not end.
    private static func tag(_ text: ArraySlice<UInt8>) -> (Tag, end: Int)? {
        var rest = text.dropFirst()
        if rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "?") {
            return rest.firstIndex(of: UInt8(ascii: ">")).map { (Tag(name: []), $0 + 1) }
        }
        var tag = Tag(name: [])
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
            if name == Array("data-mx-spoiler".utf8) { tag.spoiler = value }
        }
    }

    /// Nil if it does not end.
    private static func attribute(_ rest: inout ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8])? {
        // An "=" in the first place belongs to the name.
        var name = [rest.removeFirst()]
        name += take(&rest) {
            !isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "=")
        }
        name = lowercased(name)
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

    private static func lowercased(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }

    // MARK: Entities

    private static let names: [[UInt8]: Character] = Dictionary(
        uniqueKeysWithValues: [
            ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", " "),
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

    /// What the entity that `text` begins with stands for, and where it ends. If it is none, the ampersand.
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
