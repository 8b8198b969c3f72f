import Foundation
import TestSupport
import Testing
import Basics

struct PeerTextTests {
    @Test(arguments: HostileText.all + [HostileText.all.joined()])
    func neitherViewIsFitForAttacks(text: String) {
        let peer = PeerText(text)
        for line in [peer.description, "\(peer)", peer.line(limit: 100), "\("a \(text)" as PeerText)"] {
            #expect(HostileText.flaws(in: line) == [])
        }
        #expect(HostileText.flaws(in: peer.escaped, isBounded: false) == [])
        #expect(HostileText.flaws(in: PeerText.escapedJSON(HostileText.json(text)), isBounded: false) == [])
    }

    @Test(arguments: [
        ("plain", "plain"), ("Zoë: não 🙂 日本", "Zoë: não 🙂 日本"), ("👩‍👩‍👧 किताब می‌خواهم", "👩‍👩‍👧 किताब می‌خواهم"),
        ("a\nb\r\nc\td", "a b  c d"), ("a\u{1B}[2J", "a\u{FFFD}[2J"), ("\u{9B}\u{7F}\u{0}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("a\u{85}b\u{2028}c\u{2029}d", "a b c d"), ("\u{202E}gpj", "\u{FFFD}gpj"), ("", ""),
    ])
    func aLineKeepsWhatIsFit(text: String, line: String) {
        #expect(PeerText(text).description == line)
    }

    @Test func aLineIsCutAtALimitOfScalars() {
        let text = String(repeating: "a\u{301}", count: 600)
        #expect(PeerText(text).description.unicodeScalars.count == 1000)
        #expect(PeerText(text).description.hasSuffix("…"))
        #expect(PeerText(text).line(limit: 1200) == text)
        #expect(PeerText("abcdef").line(limit: 3) == "ab…")
        #expect(PeerText("abc").line(limit: 3) == "abc")
    }

    @Test(arguments: [0, 1, 900, 970, 999, 1000, 1063])
    func aSignatureIsBlanked_whereverItStands(offset: Int) {
        let text = String(repeating: "-", count: offset) + String(repeating: "5e", count: 32) + " end"
        #expect(!PeerText(text).description.contains("5e"))
    }

    @Test(arguments: [
        ("a\u{1B}[2J\n", #"a\u{1B}[2J\n"#), ("\u{9B}\u{202E}", #"\u{9B}\u{202E}"#), ("Zoë 🙂", "Zoë 🙂"),
        (String(repeating: "x", count: 5000), String(repeating: "x", count: 5000)),
    ])
    func aTerminalGetsAllOfIt(text: String, escaped: String) {
        #expect(PeerText(text).escaped == escaped)
    }

    @Test(arguments: [
        ("{\"a\":\"\u{9B}\u{202E}\u{7F}\u{2028}é🙂\"}", #"{"a":"\u009b\u202e\u007f\u2028é🙂"}"#),
        ("{\n\t\"a\": 1\r\n}", "{  \"a\": 1  }"),
    ])
    func jsonSaysTheSameWhenItIsEscaped(json: String, escaped: String) throws {
        #expect(PeerText.escapedJSON(json) == escaped)
        let (before, after) = try (
            JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary,
            JSONSerialization.jsonObject(with: Data(escaped.utf8)) as? NSDictionary
        )
        #expect(before == after)
    }
}
