import TestSupport
import Testing

@testable import CommandKit

struct TerminalTextTests {
    @Test func onlyWhatTheSourceSaysIsTakenAsItIs() {
        let hostile = HostileText.short
        let line: TerminalText = "\u{1B}[1mours\u{1B}[0m \(hostile) \(hostile as String?) \([hostile])"
        #expect(line.text.hasPrefix("\u{1B}[1mours\u{1B}[0m x\\n2026"))
        #expect(HostileText.flaws(in: line.text, isColored: true) == [])
        let painted = TextStyle(isColored: true).event(hostile)
        #expect(painted.text.hasPrefix("\u{1B}[1mx\\n") && painted.text.hasSuffix("\u{1B}[0m"))
        #expect(HostileText.flaws(in: "\(painted)" as TerminalText == painted ? "" : "\u{0}") == [])
        #expect(TextStyle(isColored: false).channel("a") == "a")
    }

    @Test func columnsThatAreEmptyAreLeftOut() {
        let columns: [TerminalText] = ["", "a", "", "b"]
        #expect(columns.inColumns() == "a  b")
        #expect(TextStyle(isColored: true).dim("").isEmpty)
    }

    @Test func messagesAreBounded() {
        let line = TerminalText(HostileText.long)
        #expect(line.shortened.text.utf8.count <= 16_384 && line.shortened.text.hasSuffix("…"))
        #expect(TerminalText("short").shortened == "short")
    }
}
