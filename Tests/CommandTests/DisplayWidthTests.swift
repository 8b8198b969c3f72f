import Testing

@testable import pusher_cli

struct DisplayWidthTests {
    @Test(
        arguments: [
            ("", 0), ("plain", 5), ("é", 1), ("e\u{301}", 1), ("\u{301}", 0), ("a\u{200D}b", 2), ("日本語", 6),
            ("ｆｕｌｌ", 8), ("ﾊﾝｶｸ", 4), ("한국어", 6), ("\u{1112}\u{1161}\u{11AB}", 2), ("か\u{3099}", 2), ("😀", 2),
            ("👩‍👩‍👧‍👦", 2), ("👍🏽", 2), ("🇩🇪", 2), ("🇩🇪🇫🇷", 4), ("❤", 1), ("❤\u{FE0F}", 2), ("1\u{FE0F}\u{20E3}", 2),
            ("\u{2630}", 2), ("𠀀", 2), ("😀 日", 5), ("…", 1), ("\u{AD}", 1), ("\u{1B}", 0), ("한e\u{301}x", 4),
            ("\u{1FADC}", 2), ("\u{303F}", 1), ("\u{3040}", 1), ("\u{4DBF}", 2), ("\u{D7A3}\u{D7A4}", 3),
        ] as [(String, Int)])
    func columns(text: String, width: Int) {
        #expect(DisplayWidth.of(text) == width)
    }

    @Test func rowsLineUpWhateverTheScript() {
        let rows: [[TerminalText]] = [["日本", "one"], ["e\u{301}", "two"], ["plain", ""]]
        #expect(ColumnLayout.table(rows, width: nil).map(\.text) == ["日本   one", "e\u{301}      two", "plain"])
        #expect(ColumnLayout.table(rows, width: 9).map(\.text) == ["日本   o…", "e\u{301}      t…", "plain"])
    }

    @Test func whatIsCutIsNeverTooWide() {
        #expect(ColumnLayout.cut("日本語", to: 6) == "日本語")
        #expect(ColumnLayout.cut("日本語", to: 5) == "日本…")
        #expect(ColumnLayout.cut("日本語", to: 4) == "日…")
        #expect(ColumnLayout.cut("日本語", to: nil) == "日本語")
    }

    @Test func wordsFillTheColumnsFromTopToBottom() {
        let words: [TerminalText] = ["a", "bb", "日本", "d", "e"]
        #expect(ColumnLayout.grid(words, width: 17).map(\.text) == ["a     日本  e", "bb    d"])
        #expect(ColumnLayout.grid(words, width: 4).map(\.text) == ["a", "bb", "日…", "d", "e"])
        #expect(ColumnLayout.grid([], width: 80) == [])
    }
}
