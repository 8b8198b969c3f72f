import Testing

@testable import CommandKit

struct ColumnLayoutTests {
    @Test func rowsLineUpWhateverTheScript() {
        let rows: [[TerminalText]] = [["日本", "one"], ["e\u{301}", "two"], ["plain", ""]]
        #expect(ColumnLayout.table(rows, width: nil).map(\.text) == ["日本   one", "e\u{301}      two", "plain"])
        #expect(ColumnLayout.table(rows, width: 9).map(\.text) == ["日本  one", "e\u{301}     two", "pla…"])
    }

    @Test func theWidestColumnsGiveWayFirst() {
        let rows: [[TerminalText]] = [
            ["long name", "", "id", "a text of more than a few words"], ["日本語日本語", "", "x", ""],
        ]
        #expect(
            ColumnLayout.table(rows, width: 30).map(\.text) == ["long name     id  a text of m…", "日本語日本語  x"])
        #expect(ColumnLayout.table(rows, width: 20).map(\.text) == ["long n…  id  a text…", "日本語…  x"])
        #expect(ColumnLayout.table(rows, width: 4).map(\.width) == [4, 4])
    }

    @Test func paintTakesNoColumns_andEndsWhereTheTextIsCut() {
        let style = TextStyle(isColored: true)
        #expect(style.event("日本").width == 4)
        #expect(("a\(style.event("b\u{301}"))c" as TerminalText).width == 3)
        // A mark must not count as part of the preceding sequence.
        #expect(style.event("\u{301}a").width == 1)
        #expect(style.event("plain").cut(to: 5) == style.event("plain"))
        #expect(style.event("plain").cut(to: 4).text == "\u{1B}[1mpla…\u{1B}[0m")
        #expect(ColumnLayout.table([[style.event("日本"), "x"], ["a", "y"]], width: nil).map(\.width) == [7, 7])
    }

    @Test func whatIsCutIsNeverTooWide() {
        let text: TerminalText = "日本語"
        #expect(text.cut(to: 6) == "日本語")
        #expect(text.cut(to: 5) == "日本…")
        #expect(text.cut(to: 4) == "日…")
        #expect(text.cut(to: 1) == "…")
    }

    @Test func wordsFillTheColumnsFromTopToBottom() {
        let words: [TerminalText] = ["a", "bb", "日本", "d", "e"]
        #expect(ColumnLayout.grid(words, width: 17).map(\.text) == ["a     日本  e", "bb    d"])
        #expect(ColumnLayout.grid(words, width: 4).map(\.text) == ["a", "bb", "日…", "d", "e"])
        #expect(ColumnLayout.grid([], width: 80) == [])
    }
}
