/// The inline marks in a paragraph of Markdown. Works in one pass: each possible opening mark waits on a stack until
/// its closing mark is found or it turns out to be text.
struct MarkdownInline {
    /// A run of `*`, `_` or `~` that may open something.
    private struct Opener {
        let mark: UInt8
        var count: Int
        let piece: Int
    }

    private struct Bracket {
        let piece: Int
        let openers: Int
    }

    private let text: [UInt8]
    private var index = 0
    /// Finished text, split at places that may still become a tag.
    private var pieces: [[UInt8]] = [[]]
    private var openers: [Opener] = []
    private var waiting: [UInt8: Int] = [:]
    private var brackets: [Bracket] = []
    /// The positions of backtick runs, by length. Those before `index` have been removed from the end.
    private var backticks: [Int: [Int]] = [:]
    /// The number of bytes that may still be read for links that turn out not to be links.
    private var linkBudget = 262_144
    private(set) var hasMarkup = false

    private static let maximumLink = 2048
    /// The longest run of marks. Longer runs are rules or ASCII art.
    private static let longestRun = 8

    init(_ text: [UInt8]) {
        self.text = text
    }

    mutating func html() -> [UInt8] {
        findBackticks()
        while index < text.count {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\\"): readEscape()
            case UInt8(ascii: "`"): readCode()
            case UInt8(ascii: "*"), UInt8(ascii: "_"), UInt8(ascii: "~"): readMarks(byte)
            case UInt8(ascii: "["): beginLink()
            case UInt8(ascii: "]"): endLink()
            case 0x0A:
                write("<br>")
                index += 1
            default:
                Markdown.escape(byte, into: &pieces[pieces.count - 1])
                index += 1
            }
        }
        return Array(pieces.joined())
    }

    private mutating func write(_ html: String) {
        pieces[pieces.count - 1] += html.utf8
    }

    // MARK: Escapes and code

    private mutating func readEscape() {
        index += 1
        guard index < text.count, Self.isPunctuation(text[index]) else { return write("\\") }
        Markdown.escape(text[index], into: &pieces[pieces.count - 1])
        index += 1
        hasMarkup = true
    }

    private mutating func findBackticks() {
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "`") else {
                index += 1
                continue
            }
            let length = text[index...].prefix { $0 == UInt8(ascii: "`") }.count
            backticks[length, default: []].append(index)
            index += length
        }
        for length in backticks.keys { backticks[length]?.reverse() }
    }

    private mutating func readCode() {
        let length = text[index...].prefix { $0 == UInt8(ascii: "`") }.count
        let start = index + length
        while let next = backticks[length]?.last, next < start { backticks[length]?.removeLast() }
        guard let end = backticks[length]?.last else {
            pieces[pieces.count - 1] += text[index..<start]
            index = start
            return
        }
        var code = text[start..<end]
        // A space at both ends allows code to begin with a backtick.
        if code.count > 2, code.first == 0x20, code.last == 0x20 { code = code.dropFirst().dropLast() }
        write("<code>")
        for byte in code { Markdown.escape(byte == 0x0A ? 0x20 : byte, into: &pieces[pieces.count - 1]) }
        write("</code>")
        index = end + length
        hasMarkup = true
    }

    // MARK: Bold, italic, strike-through

    private mutating func readMarks(_ mark: UInt8) {
        let run = text[index...].prefix { $0 == mark }
        let before = index > 0 ? text[index - 1] : 0x20
        let after = run.endIndex < text.count ? text[run.endIndex] : 0x20
        index = run.endIndex
        // A mark must be next to the text that it marks.
        var canBegin = !Self.isSpace(after) && (!Self.isPunctuation(after) || !Self.isWord(before))
        var canEnd = !Self.isSpace(before) && (!Self.isPunctuation(before) || !Self.isWord(after))
        if mark == UInt8(ascii: "_") {
            canBegin = canBegin && !Self.isWord(before)
            canEnd = canEnd && !Self.isWord(after)
        }
        if mark == UInt8(ascii: "~") ? run.count != 2 : run.count > Self.longestRun {
            (canBegin, canEnd) = (false, false)
        }
        var count = run.count
        if canEnd { close(mark, &count) }
        if canBegin, count > 0 {
            openers.append(Opener(mark: mark, count: count, piece: pieces.count))
            waiting[mark, default: 0] += 1
            pieces.append(Array(repeating: mark, count: count))
            pieces.append([])
        } else {
            pieces[pieces.count - 1] += repeatElement(mark, count: count)
        }
    }

    private mutating func close(_ mark: UInt8, _ count: inout Int) {
        while count > 0, waiting[mark, default: 0] > 0 {
            while let last = openers.last, last.mark != mark { dropOpener() }
            guard let opener = openers.last else { return }
            let width = min(count, opener.count, 2)
            let tag = mark == UInt8(ascii: "~") ? "del" : width == 2 ? "strong" : "em"
            // Marks outside this tag come first.
            let literal = opener.count - width
            pieces[opener.piece] =
                Array(repeating: mark, count: literal) + Array("<\(tag)>".utf8)
                + pieces[opener.piece].dropFirst(opener.count)
            write("</\(tag)>")
            hasMarkup = true
            count -= width
            openers[openers.count - 1].count = literal
            if literal == 0 { dropOpener() }
            // A link cannot begin inside the tag and end outside it.
            while let bracket = brackets.last, bracket.piece > opener.piece { brackets.removeLast() }
        }
    }

    private mutating func dropOpener() {
        guard let opener = openers.popLast() else { return }
        waiting[opener.mark, default: 1] -= 1
    }

    // MARK: Links

    private mutating func beginLink() {
        brackets.append(Bracket(piece: pieces.count, openers: openers.count))
        pieces.append(Array("[".utf8))
        pieces.append([])
        index += 1
    }

    private mutating func endLink() {
        guard let bracket = brackets.popLast(), let (url, end) = link() else {
            write("]")
            index += 1
            return
        }
        var tag = Array("<a href=\"".utf8)
        for byte in url { Markdown.escape(byte, into: &tag) }
        pieces[bracket.piece] = tag + Array("\">".utf8)
        while openers.count > bracket.openers { dropOpener() }
        // Links cannot be nested.
        brackets = []
        write("</a>")
        index = end
        hasMarkup = true
    }

    /// Returns the URL after the bracket at `index`, if it is safe, and where it ends.
    private mutating func link() -> (url: ArraySlice<UInt8>, end: Int)? {
        guard index + 1 < text.count, text[index + 1] == UInt8(ascii: "("), linkBudget > 0 else { return nil }
        let start = index + 2
        var depth = 1
        var place = start
        while place < text.count, place - start < Self.maximumLink {
            switch text[place] {
            case 0...0x20, UInt8(ascii: "<"): depth = 0
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"):
                depth -= 1
                if depth == 0, Self.isSafe(text[start..<place]) { return (text[start..<place], place + 1) }
            default: break
            }
            if depth == 0 { break }
            place += 1
        }
        linkBudget -= place - start
        return nil
    }

    private static func isSafe(_ url: ArraySlice<UInt8>) -> Bool {
        let beginning = String(decoding: url.prefix(10), as: UTF8.self).lowercased()
        return ["https://", "http://", "ftp://", "mailto:", "magnet:"].contains {
            beginning.hasPrefix($0) && url.count > $0.utf8.count
        }
    }

    // MARK: Characters

    private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }

    private static func isPunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Treats all non-ASCII bytes as letters.
    private static func isWord(_ byte: UInt8) -> Bool { !isSpace(byte) && !isPunctuation(byte) }
}
