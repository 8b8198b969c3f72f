/// Text that somebody else wrote, on its way to a log, an error or a terminal. Nothing of a peer goes there in another way.
///
/// There is no way to get the text itself back, only views that are safe where they are meant for. All are without
/// control characters (C0, DEL, C1) and line and paragraph separators; the first two are without characters that turn the
/// direction of writing, too:
///
/// - ``line`` and ``description`` for logs and errors, which are of bounded length.
/// - ``escaped`` for terminals, where nothing is lost: `\u{1B}`.
/// - ``escapedForPipes`` for programs, which can give back a name that turns the direction.
package struct PeerText: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// Characters of a ``line``: Unicode scalars, since one character for people can have any number of marks.
    package static let usualLimit = 1000

    private let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral value: String) { text = value }

    /// Of the text as it was given.
    package var byteCount: Int { text.utf8.count }

    /// As a line of at most ``usualLimit`` characters.
    package var description: String { line() }

    /// One line. Breaks and tabs are spaces, other characters that are not fit are U+FFFD, and signatures, which servers
    /// repeat in their errors, are `…`, which also ends what is cut.
    package func line(limit: Int = usualLimit) -> String {
        if text.utf8.count <= min(limit, 63), text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var line = String.UnicodeScalarView()
        // Of the line, and of the hexadecimal digits at its end.
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
            // Digits that may become a signature may become one character.
            if count - digits > limit { break }
        }
        guard count > limit else { return String(line) }
        return String(String.UnicodeScalarView(line.prefix(limit - 1))) + "…"
    }

    private static let signatureLength = 64

    /// All of it, with what is not fit for a terminal escaped as `\n` or `\u{1B}`.
    package var escaped: String { Self.mapping(text, Self.swiftEscape) }

    /// Like ``escaped``, but with the characters that turn the direction of writing.
    package var escapedForPipes: String { Self.mapping(text) { $0.turnsDirection ? [$0] : Self.swiftEscape($0) } }

    private static func swiftEscape(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        switch scalar {
        case "\n": Array("\\n".unicodeScalars)
        case "\r": Array("\\r".unicodeScalars)
        case "\t": Array("\\t".unicodeScalars)
        default: Array("\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
        }
    }

    /// JSON text with what is not fit for a terminal escaped as in JSON, which changes nothing of what it says: in valid JSON
    /// such characters are in strings, but for breaks and tabs between values, which become spaces.
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
    /// Whether it can neither end a line, nor drive a terminal, nor turn the direction of what follows.
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

    /// Controls of the bidirectional algorithm (UAX #9), and U+206A to U+206F: the shapes and the swapping of what follows.
    fileprivate var turnsDirection: Bool { properties.isBidiControl || (0x206A...0x206F).contains(value) }
}
