/// A pattern of push rules: `*` is any text, `?` any one character, upper and lower case are the same.
///
/// All places where the pattern can have come to are followed at once, one bit each, so that the time is bounded by the
/// text's length times the pattern's over 64, whatever both are.
struct GlobPattern: Sendable {
    /// A text as patterns see it. Made once for many patterns.
    struct Subject {
        fileprivate let scalars: [UInt32]

        init(_ text: String) {
            scalars = text.lowercased().unicodeScalars.map(\.value)
        }
    }

    private let words: Int
    /// Whether the place before this part may be kept: a `*` stands there.
    private var loops: [UInt64]
    /// Parts that each ASCII character goes past.
    private var ascii: [UInt64]
    /// The same of the other characters in the pattern, and of those that are not in it.
    private var others: [UInt32: [UInt64]] = [:]
    private var anything: [UInt64]
    private let end: Int

    /// The longest pattern in characters.
    static let maximumLength = 1024

    /// Nil for a pattern that is too long.
    ///
    /// - Parameter isLiteral: `*` and `?` stand for themselves.
    init?(_ pattern: String, isLiteral: Bool = false) {
        guard pattern.unicodeScalars.prefix(Self.maximumLength + 1).count <= Self.maximumLength else { return nil }
        let scalars = pattern.lowercased().unicodeScalars
        let parts = isLiteral ? scalars.count : scalars.reduce(0) { $0 + ($1 == "*" ? 0 : 1) }
        let words = parts / 64 + 1
        (self.words, end) = (words, parts)
        loops = Array(repeating: 0, count: words)
        anything = Array(repeating: 0, count: words)
        ascii = Array(repeating: 0, count: 128 * words)
        var place = 0
        for scalar in scalars {
            let (word, bit) = (place / 64, UInt64(1) << UInt64(place % 64))
            if scalar == "*", !isLiteral {
                loops[word] |= bit
                continue
            }
            if scalar == "?", !isLiteral {
                anything[word] |= bit
            } else if scalar.value < 128 {
                ascii[Int(scalar.value) * words + word] |= bit
            } else {
                others[scalar.value, default: Array(repeating: 0, count: words)][word] |= bit
            }
            place += 1
        }
        for word in 0..<words where anything[word] != 0 {
            for character in 0..<128 { ascii[character * words + word] |= anything[word] }
            for character in others.keys { others[character]?[word] |= anything[word] }
        }
    }

    /// Whether the pattern is all of the text.
    func matchesAll(of subject: Subject) -> Bool {
        var places = Array(repeating: UInt64(0), count: words)
        places[0] = 1
        for scalar in subject.scalars {
            guard step(&places, scalar) else { return false }
        }
        return isAtEnd(places)
    }

    /// Whether the pattern is a part of the text that begins and ends at the ends of words.
    func matchesWords(of subject: Subject) -> Bool {
        let scalars = subject.scalars
        var places = Array(repeating: UInt64(0), count: words)
        for index in 0...scalars.count {
            let isBoundary =
                index == 0 || index == scalars.count || !Self.isWord(scalars[index - 1]) || !Self.isWord(scalars[index])
            if isBoundary {
                if index > 0, isAtEnd(places) { return true }
                places[0] |= 1
                if end == 0 { return loops[0] & 1 == 1 }  // only stars, or nothing at all
            }
            if index < scalars.count { _ = step(&places, scalars[index]) }
        }
        return false
    }

    /// - Returns: Whether the pattern can still match.
    private func step(_ places: inout [UInt64], _ scalar: UInt32) -> Bool {
        var carry: UInt64 = 0
        var all: UInt64 = 0
        let other = scalar < 128 ? nil : others[scalar] ?? anything
        for word in 0..<words {
            let mask = other?[word] ?? ascii[Int(scalar) * words + word]
            let passed = places[word] & mask
            let next = passed << 1 | carry | places[word] & loops[word]
            carry = passed >> 63
            places[word] = next
            all |= next
        }
        return all != 0
    }

    private func isAtEnd(_ places: [UInt64]) -> Bool { places[end / 64] >> UInt64(end % 64) & 1 == 1 }

    private static func isWord(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
        default: false
        }
    }
}
