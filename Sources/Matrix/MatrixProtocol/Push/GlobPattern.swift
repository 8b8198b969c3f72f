/// A pattern in a push rule. `*` matches any text and `?` any single character; case is ignored.
///
/// All possible positions in the pattern are tracked at once, one bit each. The time is therefore bounded by the text's
/// length times the pattern's length over 64, whatever the input.
struct GlobPattern: Sendable {
    /// A text prepared for matching against many patterns.
    struct Subject {
        fileprivate let scalars: [UInt32]

        init(_ text: String) {
            scalars = text.lowercased().unicodeScalars.map(\.value)
        }
    }

    private let words: Int
    /// The positions that can be kept, because a `*` comes before this part.
    private var loops: [UInt64]
    /// The parts that each ASCII character matches.
    private var ascii: [UInt64]
    /// Like `ascii`, but for all other characters, including those that are not in the pattern.
    private var others: [UInt32: [UInt64]] = [:]
    private var anything: [UInt64]
    private let end: Int

    /// The maximum length of a pattern in characters.
    static let maximumLength = 1024

    /// Returns `nil` if the pattern is too long.
    ///
    /// - Parameter isLiteral: Whether `*` and `?` match themselves.
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

    /// Returns whether the pattern matches the whole text.
    func matchesAll(of subject: Subject) -> Bool {
        var places = Array(repeating: UInt64(0), count: words)
        places[0] = 1
        for scalar in subject.scalars {
            guard step(&places, scalar) else { return false }
        }
        return isAtEnd(places)
    }

    /// Returns whether the pattern matches part of the text, from the start of a word to the end of one.
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
