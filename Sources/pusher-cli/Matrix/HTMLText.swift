/// HTML as text, for those who read no HTML.
enum HTMLText {
    private static let names: [Substring: Character] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ",
    ]
    private static let blocks: Set<Substring> = ["br", "p", "div", "li", "tr", "blockquote", "pre", "h1", "h2", "h3"]

    /// Without the tags, blocks on lines of their own, and with entities as what they stand for.
    static func plain(_ html: String) -> String {
        var text = ""
        var rest = html[...]
        while let character = rest.popFirst() {
            switch character {
            case "<":
                let tag = rest.prefix { $0 != ">" }
                guard tag.endIndex < rest.endIndex else {
                    text.append(character)  // no tag
                    continue
                }
                rest = rest[tag.endIndex...].dropFirst()
                let name = tag.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber }
                if blocks.contains(Substring(name.lowercased())), !text.isEmpty, text.last != "\n" {
                    text.append("\n")
                }
            case "&":
                let entity = rest.prefix(12).prefix { $0 != ";" }
                if entity.endIndex < rest.endIndex, rest[entity.endIndex] == ";", let decoded = decoded(entity) {
                    text.append(decoded)
                    rest = rest[entity.endIndex...].dropFirst()
                } else {
                    text.append(character)
                }
            default: text.append(character)
            }
        }
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }

    private static func decoded(_ entity: Substring) -> Character? {
        if let known = names[entity] { return known }
        guard entity.first == "#" else { return nil }
        let digits = entity.dropFirst()
        let isHex = digits.first?.lowercased() == "x"
        return (isHex ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)).flatMap(Unicode.Scalar.init).map(
            Character.init)
    }
}
