import TerminalUI
import TestSupport
import Testing

struct TextLayoutTests {
    @Test(
        arguments: [
            ("", 5, [""]), ("one", 5, ["one"]), ("one two three", 7, ["one two", "three"]),
            ("one two three", 5, ["one", "two", "three"]), ("abcdefgh", 3, ["abc", "def", "gh"]),
            ("a abcdefgh", 4, ["a", "abcd", "efgh"]), ("well-known word", 6, ["well-", "known", "word"]),
            ("日本語の文", 5, ["日本", "語の", "文"]), ("日本語、文", 6, ["日本", "語、文"]), ("one\n\ntwo\n", 9, ["one", "", "two", ""]),
            ("one   two", 4, ["one", " two"]), ("👨\u{200D}👩\u{200D}👧x", 2, ["👨\u{200D}👩\u{200D}👧", "x"]),
            ("日", 1, [""]),
        ] as [(String, Int, [String])])
    func lines(text: String, columns: Int, lines: [String]) {
        #expect(TextLayout(columns: columns).lines(StyledText(text)).map(\.text) == lines)
    }

    @Test func continuedLinesHaveAnIndent() {
        let layout = TextLayout(columns: 10)
        #expect(layout.lines("one two three", first: "• ").map(\.text) == ["• one two", "  three"])
        #expect(layout.lines("one two three", first: "▎ ", rest: "▎ ").map(\.text) == ["▎ one two", "▎ three"])
        #expect(layout.lines("one two", first: "much too long for it").map(\.text) == ["one two"])
    }

    @Test func stylesAndLinksStayWithTheirCharacters() {
        let bold = TerminalStyle(.standard, on: .standard, .bold)
        let text = StyledText([.init("one "), .init("two three", bold, link: "https://example.org")])
        let lines = TextLayout(columns: 7).lines(text, anchor: "$event")
        #expect(lines.map(\.text) == ["one two", "three"])
        #expect(lines[0].cells.map(\.style.flags) == [[], [], [], [], .bold, .bold, .bold])
        #expect(lines[1].cells.allSatisfy { $0.link == "https://example.org" && $0.style == bold })
        #expect(lines.allSatisfy { $0.anchor == "$event" })
    }

    /// No line is too wide, and only spaces are lost.
    @Test(arguments: 0..<200) func anyText(seed: UInt64) {
        var random = XorShift(seed: seed)
        let pieces = [
            "a", "word", " ", "  ", "日本", "한", "e\u{301}", "👍🏽", "-", "\n", "(", ")", "、", "a-very-long-word-indeed",
        ]
        let text = (0..<40).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
        let columns = Int.random(in: 2...30, using: &random)
        for profile in [WidthProfile.unicode, .wcwidth] {
            let columns = max(columns, 6)  // room for the widest character
            let lines = TextLayout(columns: columns, profile).lines(StyledText(text), first: "> ", rest: "  ")
            #expect(lines.allSatisfy { $0.columns <= columns })
            let kept = lines.map { String($0.text.dropFirst(min(2, $0.text.count))) }.joined()
            #expect(kept.filter { $0 != " " } == text.filter { $0 != " " && $0 != "\n" })
        }
    }

    @Test func linesAreCutWhereACharacterEnds() {
        let line = TerminalLine("日本語")
        #expect(line.columns == 6)
        #expect(line.fitted(to: 5).cells.map(\.cluster) == ["日", "", "本", "", " "])
        #expect(line.truncated(to: 5).text == "日本…" && line.truncated(to: 4).text == "日 …")
        var surface = TerminalSurface(TerminalSize(columns: 6, rows: 1))
        surface.draw(line, row: 0)
        surface.draw("x", column: 1, row: 0)
        #expect(surface.lines[0].cells.map(\.cluster) == [" ", "x", "本", "", "語", ""])
        surface.draw(TerminalLine("日本"), column: -1, row: 0)
        #expect(surface.lines[0].cells.map(\.cluster) == [" ", "本", "", " ", "語", ""])
    }

    @Test func whatComesAfterTheLastLineIsLeftOut() {
        let text = StyledText(String(repeating: "a\n", count: 60_000))
        #expect(TextLayout(columns: 10, maximumLines: 3).lines(text).map(\.columns) == [1, 1, 1])
    }
}
