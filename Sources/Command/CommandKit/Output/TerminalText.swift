import Basics
import TerminalUI

/// A line for a terminal: what the source says is taken as it is, whatever is interpolated is escaped, whoever wrote it.
///
///     StandardError.write("error: \(error)")
package struct TerminalText: Hashable, ExpressibleByStringInterpolation {
    package private(set) var text = ""
    /// The text for a program, if it differs: names that turn the direction of writing as they are, so that they can
    /// be given back.
    private var pipedText: String?

    /// Nothing of it drives the terminal, breaks the line or turns its order round.
    package init(_ words: String) {
        text = PeerText(words).escaped
        guard text.utf8.count != words.utf8.count else { return }  // nothing is escaped
        let piped = PeerText(words).escapedForPipes
        if piped.utf8.count != text.utf8.count { pipedText = piped }
    }

    package init(stringLiteral value: String) { text = value }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.line }

    private init(painted text: String) { self.text = text }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var line: TerminalText = ""

        package init(literalCapacity: Int, interpolationCount: Int) { line.text.reserveCapacity(literalCapacity) }

        package mutating func appendLiteral(_ literal: String) { line.append(TerminalText(stringLiteral: literal)) }

        package mutating func appendInterpolation(_ part: TerminalText) { line.append(part) }

        package mutating func appendInterpolation(_ value: some Any) {
            line.append(TerminalText(String(describing: value)))
        }
    }

    private mutating func append(_ part: TerminalText) {
        if pipedText != nil || part.pipedText != nil { pipedText = forPipes + part.forPipes }
        text += part.text
    }

    /// For a file, or a pipe to another program.
    package var forPipes: String { pipedText ?? text }

    package var isSameForPipes: Bool { pipedText == nil }

    package var isEmpty: Bool { text.isEmpty }

    /// - Parameter code: Of SGR (ECMA-48, 8.3.117).
    package func painted(_ code: Int) -> TerminalText {
        isEmpty ? self : TerminalText(painted: "\u{1B}[\(code)m\(text)\u{1B}[0m")
    }

    /// Its beginning, if it is too long for a message.
    package var shortened: TerminalText {
        text.utf8.count <= Self.maximumMessageSize
            ? self
            : TerminalText(
                painted: String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumMessageSize / 4))) + "…"
            )
    }

    /// The columns that it takes, whatever it is painted with.
    package var width: Int { pieces.reduce(0) { $0 + (Self.isSequence($1) ? 0 : WidthProfile.unicode.width(of: $1)) } }

    /// Its beginning, with `…` at the end, if it is wider than this.
    package func cut(to maximum: Int) -> TerminalText {
        guard width > maximum else { return self }
        var (result, room) = ("", maximum - 1)
        for piece in pieces {
            if Self.isSequence(piece) {
                result += piece  // also behind the cut, where it ends what was begun before
                continue
            }
            for character in piece where room >= 0 {
                room -= WidthProfile.unicode.width(of: character)
                result += room >= 0 ? String(character) : "…"
            }
        }
        return TerminalText(painted: result)
    }

    /// SGR sequences, which are all ours since those of others are escaped, and what is between them.
    private var pieces: [Substring] {
        var pieces: [Substring] = []
        var rest = text[...]
        while let start = rest.unicodeScalars.firstIndex(of: "\u{1B}"),
            let end = rest[start...].unicodeScalars.firstIndex(of: "m").map(rest.unicodeScalars.index(after:))
        {
            pieces += [rest[..<start], rest[start..<end]]
            rest = rest[end...]
        }
        return pieces + [rest]
    }

    private static func isSequence(_ piece: Substring) -> Bool { piece.unicodeScalars.first == "\u{1B}" }

    private static let maximumMessageSize = 16_000
}

extension [TerminalText] {
    /// In columns, without those that are empty.
    package func inColumns() -> TerminalText {
        filter { !$0.isEmpty }.reduce("") { line, column in line.isEmpty ? column : "\(line)  \(column)" }
    }
}
