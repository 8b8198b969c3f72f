import JSONBytes

/// Text that a peer may send, and that must not reach a log or a terminal unchanged.
package enum HostileText {
    /// Texts that forge lines, control terminals, reverse the writing direction or repeat a signature.
    package static let short = [
        "x\n2026-01-01 error forged: admin=true", "x\r\ny", "\u{1B}[2J\u{1B}]0;forged\u{7}", "\u{9B}31m", "a\u{85}b",
        "a\u{2028}b\u{2029}c", "\u{202E}gpj.exe\u{202C}\u{202A}\u{202B}\u{202D}", "\u{2066}a\u{2067}b\u{2068}c\u{2069}",
        "\u{200E}a\u{200F}b\u{61C}c", "\u{206A}a\u{206F}", "\u{0}\u{8}\u{7F}\u{80}\u{9F}",
    ].joined(separator: " ")
    package static let signature = String(repeating: "5e", count: 32)
    /// One character with many combining marks.
    package static let long = "a" + String(repeating: "\u{301}", count: 100_000)

    package static let all = [short, signature, long]

    /// Returns `text` as a JSON string.
    package static func json(_ text: String) -> String { JSONString.quoted(text) }

    /// Returns `text` as a JSON string with half a surrogate pair, which some JSON readers reject.
    package static func jsonWithHalfPair(_ text: String) -> String {
        String(JSONString.quoted(text).dropLast()) + #"\ud800""#
    }

    /// Describes what a line must not contain; empty if it is fit to be logged or printed.
    ///
    /// - Parameters:
    ///   - isBounded: Whether the length is limited, as for log lines and errors, but not for requested data.
    ///   - isColored: Whether to allow the four styles that `pusher-cli` uses.
    ///   - isPiped: Whether a program reads it, for which the writing direction means nothing.
    package static func flaws(
        in line: String, isBounded: Bool = true, isColored: Bool = false, isPiped: Bool = false
    ) -> [String] {
        var line = line
        if isColored { for code in ["0", "1", "2", "36"] { line = line.replacing("\u{1B}[\(code)m", with: "") } }
        var flaws: Set<String> = []
        for scalar in line.unicodeScalars {
            switch scalar.value {
            case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F:
                if !isPiped { fallthrough }
            case 0..<0x20, 0x7F, 0x80..<0xA0, 0x2028, 0x2029:
                flaws.insert("U+" + String(scalar.value, radix: 16, uppercase: true))
            default: break
            }
        }
        if isBounded {
            if line.utf8.count > 16_384 { flaws.insert("\(line.utf8.count) bytes") }
            if line.contains(signature) { flaws.insert("a signature") }
        }
        return flaws.sorted()
    }
}
