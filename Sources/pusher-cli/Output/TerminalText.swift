import Basics

/// A line for a terminal: what the source says is taken as it is, whatever is interpolated is escaped, whoever wrote it.
///
///     StandardError.write("error: \(error)")
struct TerminalText: Hashable, ExpressibleByStringInterpolation {
    let text: String

    /// Nothing of it drives the terminal, breaks the line or turns its order round.
    init(_ words: String) { text = PeerText(words).escaped }

    init(stringLiteral value: String) { text = value }

    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    private init(painted text: String) { self.text = text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ part: TerminalText) { text += part.text }

        mutating func appendInterpolation(_ value: some Any) { text += PeerText(String(describing: value)).escaped }
    }

    var isEmpty: Bool { text.isEmpty }

    /// - Parameter code: Of SGR (ECMA-48, 8.3.117).
    func painted(_ code: Int) -> TerminalText {
        isEmpty ? self : TerminalText(painted: "\u{1B}[\(code)m\(text)\u{1B}[0m")
    }

    /// Its beginning, if it is too long for a message.
    var shortened: TerminalText {
        text.utf8.count <= Self.maximumMessageSize
            ? self
            : TerminalText(
                painted: String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumMessageSize / 4))) + "…"
            )
    }

    private static let maximumMessageSize = 16_000
}

extension [TerminalText] {
    /// In columns, without those that are empty.
    func inColumns() -> TerminalText {
        filter { !$0.isEmpty }.reduce("") { line, column in line.isEmpty ? column : "\(line)  \(column)" }
    }
}
