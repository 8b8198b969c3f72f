import Basics
import Foundation
import TestSupport
import Testing

struct PeerTextTests {
    @Test(arguments: HostileText.all + [HostileText.all.joined()])
    func neitherViewIsFitForAttacks(text: String) {
        let peer = PeerText(text)
        for line in [peer.description, "\(peer)", peer.line(limit: 100), "\("a \(text)" as PeerText)"] {
            #expect(HostileText.flaws(in: line) == [])
        }
        #expect(HostileText.flaws(in: peer.escaped, isBounded: false) == [])
        #expect(HostileText.flaws(in: peer.escapedForPipes, isBounded: false, isPiped: true) == [])
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
        ("S", "…"), ("äSb", "ä…b"), ("SS", "……"), ("S5", "…5"), ("-Sx", "-…x"),
        (String(repeating: "5", count: 63), String(repeating: "5", count: 63)),
        ("S" + String(repeating: "5", count: 63), "…" + String(repeating: "5", count: 63)),
        (String(repeating: "aF", count: 32), "…"),
        (String(repeating: "5 ", count: 64), String(repeating: "5 ", count: 64)),
    ])
    func aSignatureHas64Digits(text: String, line: String) {
        #expect(PeerText(text.replacing("S", with: HostileText.signature)).description == line)
    }

    /// Characters blanked earlier make room for it.
    @Test(arguments: [0, 1, 2, 20], [1, 2, 63, 64])
    func noPartOfASignatureIsLeftAtTheEnd(signatures: Int, room: Int) {
        let text =
            String(repeating: HostileText.signature + "-", count: signatures)
            + String(repeating: "-", count: 1000 - 2 * signatures - room) + HostileText.signature
        let line = PeerText(text + " end").description
        #expect(!line.contains("5e"))
        #expect(line.unicodeScalars.count <= 1000)
        #expect(PeerText(text).description.hasSuffix("-…"))
    }

    @Test func whatIsCutEndsWithDots_howeverManySignaturesWereBlanked() {
        let line = PeerText(String(repeating: HostileText.signature + "-", count: 2000)).description
        #expect(line == String(repeating: "…-", count: 499) + "……")
        #expect(PeerText("äbc").line(limit: 3) == "äbc")
        #expect(PeerText("äbcd").line(limit: 3) == "äb…")
        #expect(PeerText("--" + HostileText.signature).line(limit: 3) == "--…")
    }

    /// Peers decide the length of their texts.
    @Test func aLineCostsTheSameHoweverLongTheTextIs() {
        let text = PeerText(String(repeating: "é", count: 200_000))
        let (line, all) = (cpuTime { _ = text.line() }, cpuTime { _ = text.escaped })
        #expect(line * 10 < all)
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
