public import Foundation

/// Text with its structure, as renderers use it: blocks of runs. It has no fonts and no colours, only what they stand for.
public struct MXKText: Hashable, Sendable {
    /// What a colour stands for. A theme says how it looks.
    public enum ColorRole: Hashable, Sendable {
        /// Plain text.
        case `default`
        /// Beside what matters: times, notices of the room's state.
        case subtitle
        /// The name of whoever says something.
        case prefix
        /// What a push rule highlights.
        case bing
        /// On its way, and not encrypted yet.
        case encrypting
        /// On its way.
        case sending
        /// It could not be sent, or shown.
        case error
        /// A link.
        case link
        /// What somebody else has said.
        case quote
        /// Code.
        case code
        /// Hidden until somebody asks to see it.
        case spoiler
        /// Of ourselves.
        case own
        /// Of somebody else: a number made of the user's id.
        case other(UInt8)
        /// A colour that the sender has chosen, from 0 to 255 each.
        case chosen(UInt8, UInt8, UInt8)
    }

    /// Whom or what a run names, for a shape of its own.
    public enum Pill: Hashable, Sendable {
        /// A user, by the id.
        case user(String)
        /// A room, by its id or alias.
        case room(String)
        /// An event in a room.
        case event(room: String, event: String)
    }

    /// How a run looks.
    public struct Style: Hashable, Sendable {
        /// Heavy.
        public var isBold = false
        /// Slanted.
        public var isItalic = false
        /// With a line below.
        public var isUnderlined = false
        /// With a line through it.
        public var isStruck = false
        /// Of one width.
        public var isCode = false
        /// Why it is hidden, perhaps empty; nil if it is not.
        public var spoiler: String?
        /// Where it leads.
        public var link: URL?
        /// Whom it names.
        public var pill: Pill?
        /// What its colour stands for; nil is that of the text around it.
        public var color: ColorRole?
        /// What the colour behind it stands for.
        public var background: ColorRole?

        /// Plain.
        public init() {}
    }

    /// Text of one style.
    public struct Run: Hashable, Sendable {
        /// Line breaks in it are breaks.
        public var text: String
        /// How it looks.
        public var style: Style

        /// A run, plain unless told otherwise.
        public init(_ text: String, _ style: Style = Style()) { (self.text, self.style) = (text, style) }
    }

    /// A paragraph, or something else that stands on lines of its own.
    public struct Block: Hashable, Sendable {
        /// What a block is.
        public enum Kind: Hashable, Sendable {
            /// Text.
            case paragraph
            /// From 1 to 6.
            case heading(Int)
            /// Code, whose lines are not wrapped; the language may not be known.
            case code(language: String?)
            /// A point of a list. Nil has a bullet.
            case item(ordinal: Int?)
            /// A line across.
            case rule
            /// A row of a table; each cell is a run list.
            case row([[Run]])
        }

        /// What it is.
        public var kind: Kind
        /// Its text; empty for a rule and a row.
        public var runs: [Run]
        /// How many quotes it is in.
        public var quoteDepth: Int
        /// How many lists it is in, beyond the first.
        public var listDepth: Int

        /// A block, a paragraph unless told otherwise.
        public init(_ kind: Kind = .paragraph, runs: [Run] = [], quoteDepth: Int = 0, listDepth: Int = 0) {
            (self.kind, self.runs, self.quoteDepth, self.listDepth) = (kind, runs, quoteDepth, listDepth)
        }
    }

    /// In order.
    public var blocks: [Block]
    /// What the colour of all of it stands for, where a run has none of its own.
    public var color = ColorRole.default

    /// The blocks in order.
    public init(blocks: [Block] = []) { self.blocks = blocks }

    /// One paragraph.
    public init(_ text: String, _ style: Style = Style()) {
        blocks = text.isEmpty ? [] : [Block(runs: [Run(text, style)])]
    }

    /// Whether there is nothing to see.
    public var isEmpty: Bool { blocks.isEmpty }

    /// Without the styles: blocks on lines of their own, and what is hidden as `[spoiler]`.
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

    /// The links in it, each once.
    public var links: [URL] {
        var links: [URL] = []
        for block in blocks {
            var runs = block.runs
            if case .row(let cells) = block.kind { runs = cells.flatMap { $0 } }
            for case let link? in runs.map(\.style.link) where !links.contains(link) { links.append(link) }
        }
        return links
    }

    /// Puts something before the first word, in the same line.
    public mutating func prepend(_ run: Run) {
        guard let first = blocks.first, case .paragraph = first.kind, first.quoteDepth == 0 else {
            blocks.insert(Block(runs: [run]), at: 0)
            return
        }
        blocks[0].runs.insert(run, at: 0)
    }

    /// Puts something behind the last word, in the same line.
    public mutating func append(_ run: Run) {
        guard let last = blocks.last, case .paragraph = last.kind, last.quoteDepth == 0 else {
            blocks.append(Block(runs: [run]))
            return
        }
        blocks[blocks.count - 1].runs.append(run)
    }

    /// Marks every place where the pattern stands, whatever its case and accents, with a colour behind it.
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
    /// The ``MXKText`` that all of a text was made of.
    public static let mxkText = NSAttributedString.Key(rawValue: "MXKText")
}

extension MXKText {
    /// For programs that use Foundation's type: each run has its style as ``Foundation/NSAttributedString/Key/mxkStyle``, and
    /// links have `.link`.
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
