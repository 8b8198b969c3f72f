import TerminalUI
import TestSupport
import Testing

struct ScreenTextTests {
    private static let family = "👨\u{200D}👩\u{200D}👧"

    @Test(
        arguments: [
            ("plain", "plain"), ("two\nlines\r\nthree", "two\nlines\nthree"), ("a\u{1B}[2Jb\u{7}\u{9B}c", "a [2Jb  c"),
            ("a\tb", "a   b"), ("abcd\te", "abcd    e"), ("日\tx", "日  x"), ("a\u{202E}b\u{2066}c\u{2069}", "abc"),
            ("a\u{200B}\u{2060}\u{FEFF}\u{AD}b", "ab"), ("a\u{2028}b", "a b"), (family, family),
            ("❤\u{FE0F}", "❤\u{FE0F}"), ("a\u{FE0F}\u{200D}b", "ab"), ("1\u{FE0F}\u{20E3}", "1\u{FE0F}\u{20E3}"),
            ("e" + String(repeating: "\u{301}", count: 10_000), "e" + String(repeating: "\u{301}", count: 4)),
            ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("\u{E000}", "\u{E000}"),
            ("🏴\u{E0067}\u{E0062}\u{E007F}", "🏴\u{E0067}\u{E0062}\u{E007F}"), ("x\u{E0067}", "x"),
        ] as [(String, String)])
    func texts(text: String, cleaned: String) {
        #expect(ScreenText.cleaned(text).unicodeScalars.elementsEqual(cleaned.unicodeScalars))
    }

    @Test(
        arguments: [
            ("Ada\nadmin", "Ada admin"), ("Ada\u{202E}nimda", "Adanimda"), ("a\u{E000}\u{378}", "a\u{FFFD}\u{FFFD}"),
            ("a\u{200C}b\u{3164}\u{115F}", "ab"), ("a\tb", "a b"), ("\r\n", " "),
        ] as [(String, String)])
    func names(name: String, cleaned: String) {
        #expect(ScreenText.cleanedName(name).unicodeScalars.elementsEqual(cleaned.unicodeScalars))
    }

    @Test(arguments: 0..<200) func nothingDrivesTheTerminal(seed: UInt64) {
        var random = XorShift(seed: seed)
        var scalars = String.UnicodeScalarView()
        for _ in 0..<100 {
            let limit: UInt32 = [0x20, 0xA0, 0x2100, 0x1_0000, 0x11_0000].randomElement(using: &random) ?? 0x20
            if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) { scalars.append(scalar) }
        }
        let text = String(scalars)
        for cleaned in [ScreenText.cleaned(text), ScreenText.cleanedName(text)] {
            for scalar in cleaned.unicodeScalars {
                #expect(scalar == "\n" || scalar.properties.generalCategory != .control)
                #expect(!scalar.properties.isBidiControl)
            }
            #expect(ScreenText.cleaned(cleaned).unicodeScalars.elementsEqual(cleaned.unicodeScalars))
        }
        #expect(!ScreenText.cleanedName(text).contains("\n"))
    }

    @Test func aNameIsNoLongerThanAnyLine() {
        let cleaned = ScreenText.cleanedName(String(repeating: "日", count: 30_000))
        #expect(cleaned == String(repeating: "日", count: 1365))
    }

    @Test(arguments: ["\u{1100}", "👨\u{200D}", "👩\u{FE0F}"]) func oneCharacterIsNotAsLongAsItLikes(part: String) {
        let text = String(repeating: part, count: 20_000)
        let cleaned = ScreenText.cleaned(text)
        #expect(cleaned.allSatisfy { $0.unicodeScalars.count <= 32 })
        #expect(ScreenText.cleaned(cleaned).unicodeScalars.elementsEqual(cleaned.unicodeScalars))
    }
}
