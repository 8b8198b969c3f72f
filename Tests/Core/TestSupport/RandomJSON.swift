/// Random JSON texts that are hard to read: escapes, runs of backslashes, brackets in strings, blanks anywhere.
package struct RandomJSON {
    package var generator: XorShift

    package init(seed: UInt64) {
        generator = XorShift(seed: seed)
    }

    package mutating func value(depth: Int = 4) -> String {
        let blank = blank()
        let text =
            switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &generator) {
            case 0: "null"
            case 1: Bool.random(using: &generator) ? "true" : "false"
            case 2: number()
            case 3...5: string()
            case 6, 7: object(depth: depth - 1)
            default: array(depth: depth - 1)
            }
        return blank + text + self.blank()
    }

    package mutating func object(depth: Int) -> String {
        let members = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
            blank() + string() + blank() + ":" + value(depth: depth)
        }
        return "{" + (members.isEmpty ? blank() : members.joined(separator: ",")) + "}"
    }

    private mutating func array(depth: Int) -> String {
        let elements = (0..<Int.random(in: 0...5, using: &generator)).map { _ in value(depth: depth) }
        return "[" + (elements.isEmpty ? blank() : elements.joined(separator: ",")) + "]"
    }

    private mutating func blank() -> String {
        Int.random(in: 0..<6, using: &generator) > 0
            ? "" : String(repeating: [" ", "\n", "\t", "\r"].randomElement(using: &generator) ?? " ", count: length())
    }

    private mutating func number() -> String {
        ["0", "-1", "12", "1.5", "1e3", "-2.5E-2", "1234567890"].randomElement(using: &generator) ?? "0"
    }

    package mutating func string() -> String {
        let parts = [
            "a", "key", "{", "}", "[", "]", ",", ":", " ", "é", "🙂", "\\\"", "\\\\", "\\n", "\\/", "\\u00e9",
            "\\ud83d\\ude42",
            "\\\\\\\"", "\\\\\\\\", "plain text that is longer than a vector of sixteen bytes",
        ]
        let count = Int.random(in: 0...6, using: &generator)
        let inside = (0..<count).map { _ in
            let part = parts.randomElement(using: &generator) ?? "a"
            return Int.random(in: 0..<8, using: &generator) == 0 ? String(repeating: part, count: length()) : part
        }
        return "\"" + inside.joined() + "\""
    }

    /// A length, often close to the block size of readers.
    private mutating func length() -> Int {
        [1, 2, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65].randomElement(using: &generator) ?? 1
    }
}
