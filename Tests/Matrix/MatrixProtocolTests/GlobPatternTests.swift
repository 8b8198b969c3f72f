import TestSupport
import Testing

@testable import MatrixProtocol

@Suite struct GlobPatternTests {
    private func matchesAll(_ pattern: String, _ text: String) -> Bool {
        GlobPattern(pattern)?.matchesAll(of: GlobPattern.Subject(text)) ?? false
    }

    private func matchesWords(_ pattern: String, _ text: String) -> Bool {
        GlobPattern(pattern)?.matchesWords(of: GlobPattern.Subject(text)) ?? false
    }

    @Test(
        arguments: [
            ("", "", true), ("", "a", false), ("*", "", true), ("?", "", false), ("a", "A", true), ("a*", "a", true),
            ("*a*b*", "xxaxxbxx", true), ("*a*b*", "xxbxxaxx", false), ("a?c", "abc", true), ("a?c", "a🙂c", true),
            ("a?c", "ac", false), ("**?**", "x", true), ("é*", "École", true), ("a.c", "abc", false),
            ("[a]", "a", false),
        ])
    func patternsMatchTheWholeText(pattern: String, text: String, expected: Bool) {
        #expect(matchesAll(pattern, text) == expected)
    }

    @Test(
        arguments: [
            ("cake", "cake", true), ("cake", "cakes", false), ("cake", "a cake", true), ("cake", "_cake", false),
            ("cake", "cake2", false), ("cake", "(cake)", true), ("cake", "écake", true),
            ("cake", "cakecake cake", true),
            ("ca*", "xca cab", true), ("", "words", false), ("*", "", true), ("*", "words", true),
            ("a b", "x a b y", true),
            ("aa", "aaa aa", true), ("a*a", "ab ba", true), ("?", "ab", false), ("?", "a b", true),
        ])
    func patternsMatchAtWordBoundaries(pattern: String, text: String, expected: Bool) {
        #expect(matchesWords(pattern, text) == expected)
    }

    /// A brute-force matcher.
    private func slowlyMatches(_ pattern: Substring, _ text: Substring) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return slowlyMatches(pattern.dropFirst(), text)
                || !text.isEmpty && slowlyMatches(pattern, text.dropFirst())
        }
        guard let character = text.first, first == "?" || first == character else { return false }
        return slowlyMatches(pattern.dropFirst(), text.dropFirst())
    }

    @Test func itAgreesWithAMatcherThatTriesEverything() {
        var generator = XorShift(seed: 7)
        for _ in 0..<3000 {
            let pattern = String(
                (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                    "ab*?".randomElement(using: &generator) ?? "a"
                })
            let text = String(
                (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                    "abc".randomElement(using: &generator) ?? "a"
                })
            #expect(matchesAll(pattern, text) == slowlyMatches(pattern[...], text[...]), "\(pattern) \(text)")
        }
    }

    @Test func patternsOfManyWordsCarryOverTheirEdges() {
        for length in [31, 32, 33, 63, 64, 65, 511, 512] {
            let text = String(repeating: "ab", count: length)
            #expect(matchesAll(text, text))
            #expect(!matchesAll(text, text + "a"))
            #expect(matchesAll(String(repeating: "?", count: 2 * length), text))
            #expect(matchesWords(text, "x " + text + " y"))
        }
    }

    @Test func aLongPatternIsMatchedFromItsBeginning() {
        let beginning = String(repeating: "a", count: 64)
        #expect(matchesAll(beginning + "b", beginning + "b"))
        #expect(!matchesAll(beginning + "b", "b"))
        #expect(!matchesWords(beginning + "b", "b"))
    }

    @Test func hostilePatternsTakeBoundedTime() {
        let pattern = String(repeating: "*a", count: 512)
        let text = String(repeating: "a ", count: 16_000) + "a"
        let elapsed = ContinuousClock().measure {
            #expect(matchesAll(pattern, text))
            #expect(!matchesWords(pattern + "b", text))
        }
        #expect(elapsed < .seconds(20))
        #expect(GlobPattern(String(repeating: "a", count: 1025)) == nil)
        #expect(GlobPattern(String(repeating: "a", count: 1024)) != nil)
        #expect(GlobPattern(String(repeating: "𝔸", count: 1025)) == nil)
        #expect(GlobPattern(String(repeating: "𝔸", count: 1024)) != nil)
    }
}
