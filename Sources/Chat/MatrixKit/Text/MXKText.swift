public import Foundation

/// Text with its structure, for renderers: blocks of runs. It has semantic roles instead of fonts and colours.
public struct MXKText: Hashable, Sendable {
    /// The role of a colour. A theme defines its appearance.
    public enum ColorRole: Hashable, Sendable {
        /// Plain text.
        case `default`
        /// Secondary information: times, notices of the room's state.
        case subtitle
        /// The name of the sender.
        case prefix
        /// Text that a push rule highlights.
        case bing
        /// A message being encrypted.
        case encrypting
        /// A message being sent.
        case sending
        /// A message that could not be sent or shown.
        case error
        /// A link.
        case link
        /// A quote.
        case quote
        /// Code.
        case code
        /// Hidden until the user reveals it.
        case spoiler
        /// The user.
        case own
        /// Another user, with a number derived from the user id.
        case other(UInt8)
        /// A colour chosen by the sender: red, green and blue from 0 to 255.
        case chosen(UInt8, UInt8, UInt8)
    }

    /// The user, room or event that a run names, for display as a pill.
    public enum Pill: Hashable, Sendable {
        /// A user id.
        case user(String)
        /// A room id or alias.
        case room(String)
        /// An event in a room.
        case event(room: String, event: String)
    }

    /// The style of a run.
    public struct Style: Hashable, Sendable {
        /// Whether the text is bold.
        public var isBold = false
        /// Whether the text is italic.
        public var isItalic = false
        /// Whether the text is underlined.
        public var isUnderlined = false
        /// Whether the text is struck through.
        public var isStruck = false
        /// Whether the text is monospaced.
        public var isCode = false
        /// The reason for a spoiler, possibly empty; `nil` if the text is not hidden.
        public var spoiler: String?
        /// The target of a link.
        public var link: URL?
        /// The user, room or event that the run names.
        public var pill: Pill?
        /// The role of the text colour; `nil` inherits the surrounding one.
        public var color: ColorRole?
        /// The role of the background colour.
        public var background: ColorRole?

        /// Creates a plain style.
        public init() {}
    }

    /// Text of one style.
    public struct Run: Hashable, Sendable {
        /// The text. Line breaks are kept.
        public var text: String
        /// The style.
        public var style: Style

        /// Creates a run, plain by default.
        public init(_ text: String, _ style: Style = Style()) { (self.text, self.style) = (text, style) }
    }

    /// A paragraph or another block element.
    public struct Block: Hashable, Sendable {
        /// The kind of a block.
        public enum Kind: Hashable, Sendable {
            /// A paragraph.
            case paragraph
            /// A heading of level 1 to 6.
            case heading(Int)
            /// Code whose lines are not wrapped; `nil` if the language is unknown.
            case code(language: String?)
            /// A list item; `nil` for a bullet.
            case item(ordinal: Int?)
            /// A horizontal rule.
            case rule
            /// A table row. Each cell is a list of runs.
            case row([[Run]])
        }

        /// The kind of the block.
        public var kind: Kind
        /// The text; empty for a rule or a row.
        public var runs: [Run]
        /// The number of enclosing quotes.
        public var quoteDepth: Int
        /// The number of enclosing lists beyond the first.
        public var listDepth: Int

        /// Creates a block, a paragraph by default.
        public init(_ kind: Kind = .paragraph, runs: [Run] = [], quoteDepth: Int = 0, listDepth: Int = 0) {
            (self.kind, self.runs, self.quoteDepth, self.listDepth) = (kind, runs, quoteDepth, listDepth)
        }
    }

    /// The blocks in order.
    public var blocks: [Block]
    /// The colour role of runs without one of their own.
    public var color = ColorRole.default

    /// Creates a text from blocks.
    public init(blocks: [Block] = []) { self.blocks = blocks }

    /// Creates a text of one paragraph.
    public init(_ text: String, _ style: Style = Style()) {
        blocks = text.isEmpty ? [] : [Block(runs: [Run(text, style)])]
    }

    /// Whether the text is empty.
    public var isEmpty: Bool { blocks.isEmpty }

    /// The text without styles: one line per block, and spoilers as `[spoiler]`.
    public var plain: String {
        blocks.map { block in
            let marks = String(repeating: "> ", count: block.quoteDepth)
            let indent = String(repeating: "  ", count: block.listDepth)
            switch block.kind {
            case .rule: return marks + "---"
            case .row(let cells): return marks + cells.map { Self.plain($0) }.joined(separator: " | ")
            case .item(nil): return marks + indent + "• " + Self.plain(block.runs)
            case .item(let ordinal?): return marks + indent + "\(ordinal). " + Self.plain(block.runs)
            case .paragraph, .heading, .code: return marks + Self.plain(block.runs)
            }
        }.joined(separator: "\n")
    }

    private static func plain(_ runs: [Run]) -> String {
        runs.map { run in
            guard let reason = run.style.spoiler else { return run.text }
            return reason.isEmpty ? "[spoiler]" : "[spoiler: \(reason)]"
        }.joined()
    }

    /// The distinct links in the text.
    public var links: [URL] {
        var links: [URL] = []
        for block in blocks {
            var runs = block.runs
            if case .row(let cells) = block.kind { runs = cells.flatMap { $0 } }
            for case let link? in runs.map(\.style.link) where !links.contains(link) { links.append(link) }
        }
        return links
    }

    /// Inserts a run before the first word, on the same line.
    public mutating func prepend(_ run: Run) {
        guard let first = blocks.first, case .paragraph = first.kind, first.quoteDepth == 0 else {
            blocks.insert(Block(runs: [run]), at: 0)
            return
        }
        blocks[0].runs.insert(run, at: 0)
    }

    /// Adds a run after the last word, on the same line.
    public mutating func append(_ run: Run) {
        guard let last = blocks.last, case .paragraph = last.kind, last.quoteDepth == 0 else {
            blocks.append(Block(runs: [run]))
            return
        }
        blocks[blocks.count - 1].runs.append(run)
    }

    /// Returns the text with a background colour at every occurrence of the pattern, ignoring case and diacritics.
    public func highlighting(_ pattern: String, as color: ColorRole = .bing) -> MXKText {
        guard !pattern.isEmpty else { return self }
        var text = self
        for index in text.blocks.indices {
            text.blocks[index].runs = text.blocks[index].runs.flatMap { Self.highlighted($0, pattern, color) }
        }
        return text
    }

    private static func highlighted(_ run: Run, _ pattern: String, _ color: ColorRole) -> [Run] {
        var (runs, rest) = ([Run](), run.text[...])
        while let range = rest.range(of: pattern, options: [.caseInsensitive, .diacriticInsensitive]), !range.isEmpty {
            if range.lowerBound > rest.startIndex { runs.append(Run(String(rest[..<range.lowerBound]), run.style)) }
            var style = run.style
            style.background = color
            runs.append(Run(String(rest[range]), style))
            rest = rest[range.upperBound...]
        }
        if !rest.isEmpty || runs.isEmpty { runs.append(Run(String(rest), run.style)) }
        return runs
    }
}

extension NSAttributedString.Key {
    /// The ``MXKText/Style`` of a part of a text.
    public static let mxkStyle = NSAttributedString.Key(rawValue: "MXKStyle")
    /// The ``MXKText`` from which the whole text was created.
    public static let mxkText = NSAttributedString.Key(rawValue: "MXKText")
}

extension MXKText {
    /// The text as a Foundation attributed string: each run has its style as
    /// ``Foundation/NSAttributedString/Key/mxkStyle``, and links have `.link`.
    public var attributed: NSAttributedString {
        let result = NSMutableAttributedString(string: "")
        for (index, block) in blocks.enumerated() {
            if index > 0 { result.append(NSAttributedString(string: "\n")) }
            let alone = MXKText(blocks: [Block(block.kind, quoteDepth: block.quoteDepth, listDepth: block.listDepth)])
            result.append(NSAttributedString(string: alone.plain))
            for run in block.runs {
                var attributes: [NSAttributedString.Key: Any] = [.mxkStyle: run.style]
                if let link = run.style.link { attributes[NSAttributedString.Key(rawValue: "NSLink")] = link }
                result.append(NSAttributedString(string: run.text, attributes: attributes))
            }
        }
        if result.length > 0 {
            result.addAttribute(.mxkText, value: self, range: NSRange(location: 0, length: result.length))
        }
        return result
    }
}
