import Basics
import TerminalUI

/// A line for a terminal: literals are taken as they are, and interpolations are escaped, whatever their source.
///
///     StandardError.write("error: \(error)")
package struct TerminalText: Hashable, ExpressibleByStringInterpolation {
    package private(set) var text = ""
    /// The text for a program, if it differs: names that change the writing direction are unescaped, so that they can
    /// be passed back.
    private var pipedText: String?

    /// Escapes everything that would control the terminal, break the line or reverse its order.
    package init(_ words: String) {
        text = PeerText(words).escaped
        guard text.utf8.count != words.utf8.count else { return }  // nothing was escaped
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

    /// The text for a file or a pipe.
    package var forPipes: String { pipedText ?? text }

    package var isSameForPipes: Bool { pipedText == nil }

    package var isEmpty: Bool { text.isEmpty }

    /// - Parameter code: An SGR code (ECMA-48, 8.3.117).
    package func painted(_ code: Int) -> TerminalText {
        isEmpty ? self : TerminalText(painted: "\u{1B}[\(code)m\(text)\u{1B}[0m")
    }

    /// The beginning of the text if it is too long for a message.
    package var shortened: TerminalText {
        text.utf8.count <= Self.maximumMessageSize
            ? self
            : TerminalText(
                painted: String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumMessageSize / 4))) + "…"
            )
    }

    /// The width in columns, without its styling.
    package var width: Int { pieces.reduce(0) { $0 + (Self.isSequence($1) ? 0 : WidthProfile.unicode.width(of: $1)) } }

    /// Returns the beginning of the text, ending in `…`, if it is wider than this.
    package func cut(to maximum: Int) -> TerminalText {
        guard width > maximum else { return self }
        var (result, room) = ("", maximum - 1)
        for piece in pieces {
            if Self.isSequence(piece) {
                result += piece  // also after the cut, where it ends an earlier style
                continue
            }
            for character in piece where room >= 0 {
                room -= WidthProfile.unicode.width(of: character)
                result += room >= 0 ? String(character) : "…"
            }
        }
        return TerminalText(painted: result)
    }

    /// The pieces of the text: SGR sequences, which are all our own because others are escaped, and the text between
    /// them.
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
    /// Returns the columns as one text, without empty ones.
    package func inColumns() -> TerminalText {
        filter { !$0.isEmpty }.reduce("") { line, column in line.isEmpty ? column : "\(line)  \(column)" }
    }
}
