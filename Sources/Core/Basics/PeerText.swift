/// Text from a peer, on its way to a log, an error or a terminal. A peer's text never gets there in any other way.
///
/// The original text cannot be read back, only views that are safe for their purpose. None contains control characters
/// (C0, DEL, C1) or line and paragraph separators. The first two don't contain characters that change the writing
/// direction, either:
///
/// - ``line`` and ``description`` for logs and errors, of bounded length.
/// - ``escaped`` for terminals, where nothing is lost: `\u{1B}`.
/// - ``escapedForPipes`` for programs, which can pass on a name that changes the direction.
package struct PeerText: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// The maximum length of a ``line`` in Unicode scalars, since a user-perceived character can have any number of
    /// marks.
    package static let usualLimit = 1000

    private let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral value: String) { text = value }

    /// The size of the original text.
    package var byteCount: Int { text.utf8.count }

    /// The text as a line of at most ``usualLimit`` characters.
    package var description: String { line() }

    /// Returns the text as one line. Breaks and tabs become spaces, and other unsafe characters U+FFFD. Signatures,
    /// which servers repeat in their errors, become `…`, which also marks truncated text.
    package func line(limit: Int = usualLimit) -> String {
        if text.utf8.count <= min(limit, 63), text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var line = String.UnicodeScalarView()
        // The counts of the line and of the hexadecimal digits at its end.
        var (count, digits) = (0, 0)
        for scalar in text.unicodeScalars {
            line.append(scalar.isFitForLines ? scalar : scalar.properties.isWhitespace ? " " : "\u{FFFD}")
            count += 1
            digits = scalar.properties.isASCIIHexDigit ? digits + 1 : 0
            if digits == Self.signatureLength {
                line.removeLast(digits)
                line.append("…")
                count -= digits - 1
                digits = 0
            }
            // Digits that may be a signature may shrink to one character.
            if count - digits > limit { break }
        }
        guard count > limit else { return String(line) }
        return String(String.UnicodeScalarView(line.prefix(limit - 1))) + "…"
    }

    private static let signatureLength = 64

    /// The whole text, with characters that are unsafe for a terminal escaped as `\n` or `\u{1B}`.
    package var escaped: String { Self.mapping(text, Self.swiftEscape) }

    /// Like ``escaped``, but keeps characters that change the writing direction.
    package var escapedForPipes: String { Self.mapping(text) { $0.turnsDirection ? [$0] : Self.swiftEscape($0) } }

    private static func swiftEscape(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        switch scalar {
        case "\n": Array("\\n".unicodeScalars)
        case "\r": Array("\\r".unicodeScalars)
        case "\t": Array("\\t".unicodeScalars)
        default: Array("\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
        }
    }

    /// Escapes characters of JSON text that are unsafe for a terminal, in JSON's way and without changing its meaning.
    /// In valid JSON such characters occur only in strings, except for breaks and tabs between values, which become
    /// spaces.
    package static func escapedJSON(_ json: String) -> String {
        mapping(json) { scalar in
            switch scalar {
            case "\n", "\r", "\t": [" "]
            case let scalar:
                scalar.utf16.flatMap { unit in
                    let digits = String(unit, radix: 16)
                    return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
                }
            }
        }
    }

    private static func mapping(_ text: String, _ escape: (Unicode.Scalar) -> [Unicode.Scalar]) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isFitForLines { result.append(scalar) } else { result.append(contentsOf: escape(scalar)) }
        }
        return String(result)
    }
}

extension Unicode.Scalar {
    /// Whether it can neither end a line, nor control a terminal, nor change the direction of the text that follows.
    fileprivate var isFitForLines: Bool {
        switch value {
        case 0x20..<0x7F: true
        case 0..<0xA0: false
        default:
            switch properties.generalCategory {
            case .lineSeparator, .paragraphSeparator: false
            default: !turnsDirection
            }
        }
    }

    /// Controls of the bidirectional algorithm (UAX #9), and U+206A to U+206F, which affect the shaping and swapping of
    /// the text that follows.
    fileprivate var turnsDirection: Bool { properties.isBidiControl || (0x206A...0x206F).contains(value) }
}
