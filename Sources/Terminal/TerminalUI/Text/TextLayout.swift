/// Breaks text into lines of a given width.
///
/// Breaks lines at spaces, after hyphens and between characters of East Asian scripts. A word that is wider than a line
/// is split without a hyphen, so that copied text is intact. Continuation lines have their own indent.
public struct TextLayout: Sendable {
    /// The maximum width of a line.
    public var columns: Int
    /// The widths of characters on the terminal.
    public var profile: WidthProfile
    /// The maximum number of lines. Further text is left out.
    public var maximumLines: Int

    /// Creates a layout for lines of a width in columns.
    public init(columns: Int, _ profile: WidthProfile = .unicode, maximumLines: Int = .max) {
        (self.columns, self.profile, self.maximumLines) = (columns, profile, maximumLines)
    }

    private struct Piece {
        var character: Character
        var run: Int
        var width: Int
    }

    /// - Parameters:
    ///   - text: The text, with `\n` at the end of a line.
    ///   - first: The prefix of the first line.
    ///   - rest: The prefix of the other lines; nil for as many blanks as `first` is wide.
    /// - Returns: At least one line. None is wider than ``columns``.
    public func lines(
        _ text: StyledText, first: StyledText = StyledText(), rest: StyledText? = nil, anchor: String? = nil
    ) -> [TerminalLine] {
        let rest = rest ?? StyledText(String(repeating: " ", count: first.width(profile)))
        var lines: [TerminalLine] = []
        func prefix() -> StyledText { lines.isEmpty ? first : rest }
        /// Returns the width left beside the prefix. A prefix that leaves no room is omitted.
        func room() -> Int {
            let left = columns - prefix().width(profile)
            return left > 0 ? left : max(columns, 1)
        }
        func end(_ pieces: some Sequence<Piece>) {
            let prefix = prefix()
            var line = TerminalLine(prefix.width(profile) < columns ? prefix : StyledText(), profile, anchor: anchor)
            var part = StyledText()
            for piece in pieces {
                let run = text.runs[piece.run]
                part.append(StyledText.Run(String(piece.character), run.style, link: run.link))
            }
            line.append(part, profile)
            lines.append(line.columns > columns ? line.fitted(to: columns) : line)
        }

        var current: [Piece] = []
        var width = 0
        /// The position after the last possible line break.
        var breakpoint = 0
        for (index, run) in text.runs.enumerated() {
            characters: for character in run.text {
                if lines.count >= maximumLines { return lines }
                if character.isNewline {
                    end(current)
                    (current, width, breakpoint) = ([], 0, 0)
                    continue
                }
                let piece = Piece(character: character, run: index, width: profile.width(of: character))
                while width + piece.width > room(), !current.isEmpty {
                    if character == " " {
                        end(current)
                        (current, width, breakpoint) = ([], 0, 0)
                        continue characters  // the line was broken at this space
                    }
                    let mayBreakHere = Self.mayBreak(current[current.count - 1].character, character)
                    let cut = mayBreakHere || breakpoint == 0 ? current.count : breakpoint
                    end(Self.withoutSpaces(current[..<cut]))
                    current = Array(current[cut...])
                    width = current.reduce(0) { $0 + $1.width }
                    breakpoint = 0
                }
                if let last = current.last, Self.mayBreak(last.character, character) { breakpoint = current.count }
                current.append(piece)
                width += piece.width
            }
        }
        if !current.isEmpty || lines.isEmpty || text.text.last?.isNewline == true { end(current) }
        return lines
    }

    private static func withoutSpaces(_ pieces: ArraySlice<Piece>) -> ArraySlice<Piece> {
        let last = pieces.lastIndex { $0.character != " " }
        return last.map { pieces[...$0] } ?? pieces.prefix(0)
    }

    private static func mayBreak(_ left: Character, _ right: Character) -> Bool {
        if right == " " { return false }
        if left == " " { return true }
        if left == "-" || left == "‐" || left == "/" { return right.isLetter }
        return isEastAsian(left) && !isClosing(right) || isEastAsian(right) && !isOpening(left) && !isClosing(right)
    }

    private static func isEastAsian(_ character: Character) -> Bool {
        guard let value = character.unicodeScalars.first?.value else { return false }
        return (0x2E80...0xA4CF).contains(value) || (0xF900...0xFAFF).contains(value)
            || (0xFF00...0xFFEF).contains(value) || (0x20000...0x3FFFF).contains(value)
    }

    /// Whether it must not start a line.
    private static func isClosing(_ character: Character) -> Bool {
        switch character.unicodeScalars.first?.properties.generalCategory {
        case .closePunctuation, .finalPunctuation: true
        case .otherPunctuation: character != "・" && character != "＠" && character != "＃"
        default: "ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々〻".contains(character)
        }
    }

    /// Whether it must not end a line.
    private static func isOpening(_ character: Character) -> Bool {
        switch character.unicodeScalars.first?.properties.generalCategory {
        case .openPunctuation, .initialPunctuation: true
        default: false
        }
    }
}
