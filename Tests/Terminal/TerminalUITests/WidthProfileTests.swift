import TerminalUI
import Testing

struct WidthProfileTests {
    @Test(
        arguments: [
            ("", 0), ("plain", 5), ("é", 1), ("e\u{301}", 1), ("\u{301}", 0), ("a\u{200D}b", 2), ("日本語", 6),
            ("ｆｕｌｌ", 8), ("ﾊﾝｶｸ", 4), ("한국어", 6), ("\u{1112}\u{1161}\u{11AB}", 2), ("か\u{3099}", 2), ("😀", 2),
            ("👩‍👩‍👧‍👦", 2), ("👍🏽", 2), ("🇩🇪", 2), ("🇩🇪🇫🇷", 4), ("❤", 1), ("❤\u{FE0F}", 2), ("1\u{FE0F}\u{20E3}", 2),
            ("\u{2630}", 2), ("𠀀", 2), ("😀 日", 5), ("…", 1), ("\u{AD}", 1), ("\u{1B}", 0), ("한e\u{301}x", 4),
            ("\u{1FADC}", 2), ("\u{303F}", 1), ("\u{3040}", 1), ("\u{4DBF}", 2), ("\u{D7A3}\u{D7A4}", 3),
        ] as [(String, Int)])
    func columns(text: String, width: Int) {
        #expect(WidthProfile.unicode.width(of: text) == width)
    }
}
