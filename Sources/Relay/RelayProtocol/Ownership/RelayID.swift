import Basics

/// The ID of a relay process: its name and 64 random bits, so that no two processes ever share a heartbeat.
package struct RelayID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// A token of a subject: the name, `-`, and 16 hexadecimal digits.
    package let description: String

    package init(name: String, random: UInt64) {
        let digits = String(random, radix: 16)
        description = SubjectToken.encode(name) + "-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// - Returns: `nil` unless the text has this form; keys of strangers don't.
    package init?(_ text: String) {
        guard let dash = text.lastIndex(of: "-") else { return nil }
        let digits = text[text.index(after: dash)...]
        guard digits.utf8.count == 16, digits.utf8.allSatisfy({ Hex.lowerDigits.contains($0) }), dash > text.startIndex,
            text.utf8.count <= SubjectToken.maximumLength + 17,
            text[..<dash].utf8.allSatisfy({ $0 != UInt8(ascii: ".") && $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        description = text
    }

    /// The part that stays the same across restarts, by which slots are assigned.
    package var name: Substring { description.dropLast(17) }

    package static func < (lhs: RelayID, rhs: RelayID) -> Bool { lhs.description < rhs.description }
}
