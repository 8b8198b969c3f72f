public import Foundation
import MatrixProtocol

/// Converts the HTML of messages, which is untrusted, to ``MXKText``.
///
/// Elements that are not allowed are reduced to their text; `script` and `style` are dropped. The quoted part of a
/// reply (`mx-reply`) is left out. White space is collapsed as in browsers.
struct HTMLReader {
    static let usualTags: Set<String> = [
        "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "p", "a", "ul", "ol", "nl", "li", "b", "i", "u", "strong",
        "em", "strike", "code", "hr", "br", "div", "table", "thead", "caption", "tbody", "tr", "th", "td", "pre", "del",
        "s", "span", "sub", "sup", "img", "details", "summary", "mx-reply",
    ]
    private static let schemes: Set = ["https", "http", "mailto", "magnet", "ftp", "matrix"]
    /// The maximum nesting depth. Deeper elements are ignored.
    private static let maximumDepth = 100
    /// The maximum size of the text in bytes of UTF-8, including lines and cells. The rest is dropped.
    private static let maximumSize = 64 << 10
    /// Void elements.
    private static let empty: Set = ["br", "hr", "img"]
    private static let hidden: Set = ["script", "style", "mx-reply", "title", "head"]

    private struct Element {
        let name: String
        let style: MXKText.Style
        let quoteDepth: Int
        let isPre: Bool
    }

    private struct List {
        var next: Int?
    }

    private let allowed: Set<String>
    private var blocks: [MXKText.Block] = []
    private var runs: [MXKText.Run] = []
    private var kind = MXKText.Block.Kind.paragraph
    private var open: [Element] = []
    private var lists: [List] = []
    private var row: [[MXKText.Run]]?
    private var size = 0
    /// The element whose content is being skipped, and its depth.
    private var skipped: (name: String, depth: Int)?

    private init(allowed: Set<String>) { self.allowed = allowed }

    static func text(_ html: String, allowed: Set<String> = usualTags) -> MXKText {
        var reader = HTMLReader(allowed: allowed)
        for token in HTMLScanner(html) {
            guard reader.size < maximumSize else { break }
            switch token {
            case .text(let text): reader.add(text)
            case .tag(let tag): tag.isEnd ? reader.end(tag.name) : reader.begin(tag)
            }
        }
        reader.endBlock()
        return MXKText(blocks: reader.blocks)
    }

    private var style: MXKText.Style { open.last?.style ?? MXKText.Style() }
    private var quoteDepth: Int { open.last?.quoteDepth ?? 0 }
    private var isPre: Bool { open.last?.isPre ?? false }

    // MARK: Text

    private mutating func add(_ text: String) {
        guard skipped == nil else { return }
        var text = isPre ? text : Self.collapsed(text)
        if !isPre, text.hasPrefix(" "), runs.last.map({ $0.text.last?.isWhitespace ?? true }) ?? true {
            text.removeFirst()
        }
        guard !text.isEmpty else { return }
        size += text.utf8.count
        if size > Self.maximumSize {
            text = String(
                decoding: text.utf8.prefix(max(text.utf8.count - (size - Self.maximumSize), 0)), as: UTF8.self)
        }
        append(text, style)
    }

    private mutating func append(_ text: String, _ style: MXKText.Style) {
        if let last = runs.last, last.style == style {
            runs[runs.count - 1].text += text
        } else {
            runs.append(MXKText.Run(text, style))
        }
    }

    private static func collapsed(_ text: String) -> String {
        var (result, wasSpace) = ("", false)
        for character in text {
            let isSpace =
                character == " " || character == "\n" || character == "\t" || character == "\r\n" || character == "\r"
            if isSpace {
                if !wasSpace { result += " " }
            } else {
                result.append(character)
            }
            wasSpace = isSpace
        }
        return result
    }

    // MARK: Elements

    private mutating func begin(_ tag: HTMLScanner.Tag) {
        if let (name, depth) = skipped {
            if tag.name == name { skipped = (name, depth + 1) }
            return
        }
        if Self.hidden.contains(tag.name) {
            skipped = (tag.name, 1)
            return
        }
        guard allowed.contains(tag.name), open.count < Self.maximumDepth else { return }
        var (style, quoteDepth, isPre) = (style, quoteDepth, isPre)
        switch tag.name {
        case "b", "strong", "th": style.isBold = true
        case "i", "em": style.isItalic = true
        case "u": style.isUnderlined = true
        case "del", "s", "strike": style.isStruck = true
        case "code":
            if isPre {
                kind = .code(language: Self.language(tag.attributes["class"]) ?? Self.language(of: kind))
            } else {
                style.isCode = true
            }
        case "a": Self.link(tag.attributes["href"], &style)
        case "span": Self.span(tag, &style)
        case "h1", "h2", "h3", "h4", "h5", "h6":
            endBlock()
            kind = .heading(tag.name.utf8.last.map { Int($0) - 48 } ?? 1)
        case "p", "div", "details", "summary", "table", "caption": endBlock()
        case "blockquote":
            endBlock()
            quoteDepth += 1
        case "pre":
            endBlock()
            kind = .code(language: nil)
            isPre = true
        case "ul", "nl", "ol":
            endBlock()
            let start = tag.attributes["start"].flatMap { Int($0) } ?? 1
            lists.append(List(next: tag.name == "ol" ? min(max(start, 0), 999_999) : nil))
        case "li":
            endBlock()
            beginItem()
        case "tr":
            endBlock()
            row = []
        case "td": break
        case "br":
            size += 1
            append("\n", style)
        case "hr":
            endBlock()
            size += 3
            blocks.append(MXKText.Block(.rule, quoteDepth: quoteDepth))
        case "img": add(tag.attributes["alt"].map { "[\($0)]" } ?? "[image]")
        default: break
        }
        guard !Self.empty.contains(tag.name) else { return }
        open.append(Element(name: tag.name, style: style, quoteDepth: quoteDepth, isPre: isPre))
    }

    private mutating func beginItem() {
        guard let list = lists.last else { return kind = .item(ordinal: nil) }
        kind = .item(ordinal: list.next)
        if let next = list.next { lists[lists.count - 1].next = next + 1 }
    }

    private mutating func end(_ name: String) {
        if let (hidden, depth) = skipped {
            if name == hidden { skipped = depth > 1 ? (hidden, depth - 1) : nil }
            return
        }
        guard allowed.contains(name), let index = open.lastIndex(where: { $0.name == name }) else { return }
        for element in open[index...].reversed() { close(element.name) }
        open.removeSubrange(index...)
    }

    private mutating func close(_ name: String) {
        switch name {
        case "td", "th": endCell()
        case "tr":
            endCell()
            if let row, !row.isEmpty { blocks.append(MXKText.Block(.row(row), quoteDepth: quoteDepth)) }
            row = nil
        case "ul", "ol", "nl":
            endBlock()
            _ = lists.popLast()
        case "h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "details", "summary", "table", "caption", "blockquote",
            "pre", "li":
            endBlock()
        default: break
        }
    }

    private mutating func endCell() {
        guard row != nil, !runs.isEmpty else { return }
        size += 1
        row?.append(Self.trimmed(runs))
        runs = []
    }

    private mutating func endBlock() {
        guard row == nil else { return }
        let isCode = if case .code = kind { true } else { false }
        let trimmed = isCode ? Self.withoutLastBreak(runs) : Self.trimmed(runs)
        if !trimmed.isEmpty {
            size += 1
            blocks.append(
                MXKText.Block(kind, runs: trimmed, quoteDepth: quoteDepth, listDepth: max(lists.count - 1, 0)))
            // Only the first paragraph of a list item has a bullet.
            kind = .paragraph
        } else if case .item = kind {
            return runs = []  // `<li><p>`
        } else {
            kind = .paragraph
        }
        runs = []
    }

    private static func trimmed(_ runs: [MXKText.Run]) -> [MXKText.Run] {
        var runs = runs
        while let last = runs.last {
            let text = String(last.text.reversed().drop { $0.isWhitespace }.reversed())
            if !text.isEmpty {
                runs[runs.count - 1].text = text
                break
            }
            runs.removeLast()
        }
        while let first = runs.first {
            let text = String(first.text.drop { $0.isWhitespace })
            if !text.isEmpty {
                runs[0].text = text
                break
            }
            runs.removeFirst()
        }
        return runs
    }

    private static func withoutLastBreak(_ runs: [MXKText.Run]) -> [MXKText.Run] {
        var runs = runs
        if let last = runs.last, last.text.hasSuffix("\n") {
            runs[runs.count - 1].text.removeLast()
            if runs[runs.count - 1].text.isEmpty { runs.removeLast() }
        }
        return runs
    }

    // MARK: Attributes

    private static func link(_ href: String?, _ style: inout MXKText.Style) {
        guard let href, href.utf8.count <= 2048, let url = URL(string: href), let scheme = url.scheme?.lowercased(),
            schemes.contains(scheme)
        else { return }
        style.link = url
        style.pill = MXKText.Pill(url)
    }

    private static func span(_ tag: HTMLScanner.Tag, _ style: inout MXKText.Style) {
        if let reason = tag.attributes["data-mx-spoiler"] { style.spoiler = reason }
        if let color = tag.attributes["data-mx-color"].flatMap(color) { style.color = color }
        if let color = tag.attributes["data-mx-bg-color"].flatMap(color) { style.background = color }
    }

    private static func color(_ text: String) -> MXKText.ColorRole? {
        guard text.hasPrefix("#"), text.utf8.count == 7, let value = UInt32(text.dropFirst(), radix: 16) else {
            return nil
        }
        return .chosen(UInt8(value >> 16), UInt8(value >> 8 & 255), UInt8(value & 255))
    }

    private static func language(_ classes: String?) -> String? {
        classes?.split(separator: " ").lazy.first { $0.hasPrefix("language-") }.map {
            String($0.dropFirst(9).prefix(40))
        }
    }

    private static func language(of kind: MXKText.Block.Kind) -> String? {
        if case .code(let language) = kind { language } else { nil }
    }
}

extension MXKText.Pill {
    /// Returns the target of a `matrix.to` link or a `matrix:` URI; `nil` for any other URL.
    public init?(_ url: URL) {
        let parts: [String]
        if url.host()?.lowercased() == "matrix.to", let fragment = url.fragment(percentEncoded: true) {
            let path = fragment.prefix { $0 != "?" }
            parts = path.split(separator: "/").map { String($0).removingPercentEncoding ?? String($0) }
        } else if url.scheme?.lowercased() == "matrix" {
            let path = url.absoluteString.dropFirst("matrix:".count).prefix { $0 != "?" }
            let fields = path.split(separator: "/").map { String($0).removingPercentEncoding ?? String($0) }
            let sigils = ["u": "@", "user": "@", "r": "#", "room": "#", "roomid": "!", "e": "$", "event": "$"]
            guard fields.count % 2 == 0 else { return nil }
            var list: [String] = []
            for index in stride(from: 0, to: fields.count, by: 2) {
                guard let sigil = sigils[fields[index]] else { return nil }
                list.append(sigil + fields[index + 1])
            }
            parts = list
        } else {
            return nil
        }
        guard let first = parts.first else { return nil }
        if first.hasPrefix("@") {
            self = .user(first)
        } else if first.hasPrefix("!") || first.hasPrefix("#") {
            if parts.count > 1, parts[1].hasPrefix("$") {
                self = .event(room: first, event: parts[1])
            } else {
                self = .room(first)
            }
        } else {
            return nil
        }
    }
}
