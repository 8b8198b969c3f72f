/// Converts chat Markdown to HTML: bold, italic, strike-through, code, links, quotes, lists and headings. Line breaks
/// are kept. HTML in the input is treated as text.
///
/// The time is proportional to the text's length.
package enum Markdown {
    /// The maximum length of a text in bytes of UTF-8. An event cannot hold more.
    package static let maximumLength = 65_536

    /// - Returns: `nil` if the HTML would add nothing to the text, or if the text is too long.
    package static func html(_ text: String) -> String? {
        guard text.utf8.count <= maximumLength else { return nil }
        var text = text
        // Normalise line breaks: "\r\n" is a single character, and no line would end there.
        if text.utf8.contains(0x0D) {
            text = String(decoding: lineFeeds(text), as: UTF8.self)
        }
        var blocks = Blocks()
        blocks.read(text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }[...], depth: 0)
        return blocks.hasMarkup ? String(decoding: blocks.output, as: UTF8.self) : nil
    }

    private static func lineFeeds(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte == 0x0A, bytes.last == 0x0D { bytes.removeLast() }
            bytes.append(byte)
        }
        return bytes.map { $0 == 0x0D ? 0x0A : $0 }
    }

    /// Returns the text as HTML that shows it literally.
    package static func escaped(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 { escape(byte, into: &output) }
        return String(decoding: output, as: UTF8.self)
    }

    static func escape(_ byte: UInt8, into output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "&"): output += "&amp;".utf8
        case UInt8(ascii: "<"): output += "&lt;".utf8
        case UInt8(ascii: ">"): output += "&gt;".utf8
        case UInt8(ascii: "\""): output += "&quot;".utf8
        default: output.append(byte)
        }
    }
}

extension Markdown {
    private typealias Line = [UInt8]

    /// The kind of a line, by its beginning.
    private enum LineKind {
        case blank
        case fence(mark: UInt8, length: Int, language: String)
        case heading(level: Int, text: ArraySlice<UInt8>)
        case quote(ArraySlice<UInt8>)
        case item(indent: Int, number: Int?, text: ArraySlice<UInt8>)
        case text
    }

    private struct Blocks {
        var output: [UInt8] = []
        var hasMarkup = false

        /// The maximum depth of nested quotes. Deeper ones are treated as text.
        private static let maximumDepth = 8

        mutating func read(_ lines: ArraySlice<Line>, depth: Int) {
            var rest = lines
            var paragraphs: [[UInt8]] = []
            var paragraph: [UInt8] = []
            let hasOne = Self.isOneParagraph(lines)
            func isText(_ kind: LineKind) -> Bool { if case .text = kind { true } else { false } }

            while let line = rest.first {
                let kind = Self.kind(line)
                if isText(kind) || depth >= Self.maximumDepth {
                    if !paragraph.isEmpty { paragraph.append(0x0A) }
                    paragraph += line
                    rest.removeFirst()
                    continue
                }
                if !paragraph.isEmpty { paragraphs.append(paragraph) }
                paragraph = []
                write(&paragraphs, isAlone: hasOne)
                switch kind {
                case .blank, .text: rest.removeFirst()
                case .fence(let mark, let length, let language): readCode(&rest, mark, length, language)
                case .heading(let level, let text):
                    element("h\(level)") { $0.inline(text) }
                    rest.removeFirst()
                case .quote: readQuote(&rest, depth)
                case .item: readList(&rest)
                }
            }
            if !paragraph.isEmpty { paragraphs.append(paragraph) }
            write(&paragraphs, isAlone: hasOne)
        }

        private static func isOneParagraph(_ lines: ArraySlice<Line>) -> Bool {
            lines.allSatisfy { if case .text = kind($0) { true } else { false } }
        }

        private mutating func write(_ paragraphs: inout [[UInt8]], isAlone: Bool) {
            for paragraph in paragraphs {
                if !isAlone { output += "<p>".utf8 }
                inline(paragraph[...])
                if !isAlone { output += "</p>".utf8 }
            }
            paragraphs = []
        }

        private mutating func element(_ name: String, _ inside: (inout Blocks) -> Void) {
            hasMarkup = true
            output += "<\(name)>".utf8
            inside(&self)
            output += "</\(name)>".utf8
        }

        private mutating func inline(_ text: ArraySlice<UInt8>) {
            var inline = MarkdownInline(Array(text))
            output += inline.html()
            if inline.hasMarkup { hasMarkup = true }
        }

        private mutating func readCode(_ rest: inout ArraySlice<Line>, _ mark: UInt8, _ length: Int, _ language: String)
        {
            hasMarkup = true
            rest.removeFirst()
            output += "<pre><code\(language.isEmpty ? "" : " class=\"language-\(language)\"")>".utf8
            while let line = rest.popFirst() {
                let content = line.drop { $0 == 0x20 }
                if content.count >= length, content.prefix(length).allSatisfy({ $0 == mark }),
                    content.allSatisfy({ $0 == mark || $0 == 0x20 })
                {
                    break
                }
                for byte in line { Markdown.escape(byte, into: &output) }
                output.append(0x0A)
            }
            output += "</code></pre>".utf8
        }

        private mutating func readQuote(_ rest: inout ArraySlice<Line>, _ depth: Int) {
            var inside: [Line] = []
            while let line = rest.first, case .quote(let text) = Self.kind(line) {
                inside.append(Array(text))
                rest.removeFirst()
            }
            element("blockquote") { $0.read(inside[...], depth: depth + 1) }
        }

        private mutating func readList(_ rest: inout ArraySlice<Line>) {
            hasMarkup = true
            var open: [(indent: Int, tag: String)] = []
            while let line = rest.first {
                guard case .item(let indent, let number, let text) = Self.kind(line) else { break }
                rest.removeFirst()
                let tag = number == nil ? "ul" : "ol"
                while let last = open.last, last.indent > indent, open.count > 1 { close(&open) }
                if let last = open.last, last.indent + 1 >= indent || open.count >= Self.maximumDepth {
                    output += "</li>".utf8
                    if last.tag != tag {
                        output += "</\(last.tag)>".utf8
                        open[open.count - 1].tag = tag
                        begin(tag, number)
                    }
                } else {
                    open.append((indent, tag))
                    begin(tag, number)
                }
                output += "<li>".utf8
                var item = Array(text)
                // Lines indented below an item continue it.
                while let next = rest.first, next.first == 0x20, case .text = Self.kind(next) {
                    item.append(0x0A)
                    item += next.drop { $0 == 0x20 }
                    rest.removeFirst()
                }
                inline(item[...])
            }
            while !open.isEmpty { close(&open) }
        }

        private mutating func begin(_ tag: String, _ number: Int?) {
            if let number, number != 1 {
                output += "<ol start=\"\(number)\">".utf8
            } else {
                output += "<\(tag)>".utf8
            }
        }

        private mutating func close(_ open: inout [(indent: Int, tag: String)]) {
            guard let last = open.popLast() else { return }
            output += "</li></\(last.tag)>".utf8
        }

        private static func kind(_ line: Line) -> LineKind {
            let content = line.drop { $0 == 0x20 || $0 == 0x09 }
            let indent = content.startIndex
            guard let first = content.first else { return .blank }
            switch first {
            case UInt8(ascii: "`"), UInt8(ascii: "~"):
                let length = content.prefix { $0 == first }.count
                let info = content.dropFirst(length).drop { $0 == 0x20 }
                guard length >= 3, indent < 4, !info.contains(first) else { return .text }
                let language = info.prefix { isLanguage($0) }
                return .fence(mark: first, length: length, language: String(decoding: language, as: UTF8.self))
            case UInt8(ascii: "#"):
                let level = content.prefix { $0 == first }.count
                let rest = content.dropFirst(level)
                guard level <= 6, indent < 4, rest.first == 0x20 else { return .text }
                var text = rest.drop { $0 == 0x20 }
                while text.last == 0x20 { text.removeLast() }
                return text.isEmpty ? .text : .heading(level: level, text: text)
            case UInt8(ascii: ">"):
                let rest = content.dropFirst()
                return .quote(rest.first == 0x20 ? rest.dropFirst() : rest)
            case UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "+"):
                return item(content.dropFirst(), indent, number: nil)
            case 0x30...0x39:
                let digits = content.prefix { (0x30...0x39).contains($0) }
                let rest = content.dropFirst(digits.count)
                guard digits.count <= 9, rest.first == UInt8(ascii: ".") || rest.first == UInt8(ascii: ")") else {
                    return .text
                }
                return item(rest.dropFirst(), indent, number: Int(String(decoding: digits, as: UTF8.self)) ?? 1)
            default: return .text
            }
        }

        private static func item(_ rest: ArraySlice<UInt8>, _ indent: Int, number: Int?) -> LineKind {
            let text = rest.drop { $0 == 0x20 }
            guard rest.first == 0x20, !text.isEmpty else { return .text }
            return .item(indent: indent, number: number, text: text)
        }

        private static func isLanguage(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39,
                UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "#"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }
}
