import TerminalUI
import Testing

@testable import CommandKit
@testable import PusherCommands

struct FindingTests {
    @Test func detailsLineUpWhateverTheScriptOfTheChannel() {
        let style = TextStyle(isColored: false)
        for step in ["ping", "日本語", "e\u{301}", "한국어-😀"] {
            let line = Finding(step: step, isFine: true, detail: "|").text(style: style).text
            #expect(WidthProfile.unicode.width(of: line) == 6 + 14 + 1, "\(line)")
        }
        #expect(
            Finding(step: "a channel with a long name", isFine: false, detail: "no").text(style: style)
                == "FAIL  a channel with a long name no")
    }
}
