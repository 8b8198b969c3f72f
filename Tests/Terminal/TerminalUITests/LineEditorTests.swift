import TerminalUI
import Testing

/// Keys in, line out; `|` is the cursor.
struct LineEditorTests {
    private static func play(_ typed: String, on editor: inout LineEditor) -> [LineEditor.Effect] {
        var parser = InputParser()
        let keys = parser.parse(typed.utf8) + parser.flush()
        return keys.map { editor.handle($0) }
    }

    private static func look(_ editor: LineEditor) -> String { editor.before + "|" + editor.after }

    private static let transcripts: [(typed: String, line: String)] = [
        ("abc", "abc|"),
        ("abc\u{1B}[D\u{1B}[D", "a|bc"),
        ("abc\u{1}x", "x|abc"),
        ("abc\u{1B}[Hx\u{1B}[Fy", "xabcy|"),
        ("abc\u{1B}[D\u{7F}", "a|c"),
        ("abc\u{1}\u{1B}[3~", "|bc"),
        ("abc\u{1}\u{4}", "|bc"),
        ("one two\u{17}", "one |"),
        ("one two\u{17}\u{17}", "|"),
        ("one two\u{17}\u{17}\u{19}", "one two|"),
        ("one two\u{17}\u{1B}[C\u{17}\u{19}", "one |"),
        ("one two three\u{1B}b\u{1B}b\u{b}", "one |"),
        ("one two three\u{1B}b\u{1B}b\u{b}\u{19}\u{19}", "one two threetwo three|"),
        ("one two\u{1B}b\u{15}", "|two"),
        ("one two\u{1B}b\u{15}\u{5}\u{19}", "twoone |"),
        ("a-b c\u{1B}b\u{1B}b\u{1B}b", "|a-b c"),
        ("a-b c\u{1}\u{1B}f\u{1B}f", "a-b| c"),
        ("a-b c\u{1}\u{1B}d", "|-b c"),
        ("abc\u{14}", "acb|"),
        ("abc\u{1B}[D\u{14}", "acb|"),
        ("a\u{14}", "a|"),
        ("日本語\u{1B}[D\u{7F}", "日|語"),
        ("e\u{301}x\u{1B}[D\u{7F}", "|x"),
        ("👩‍👩‍👧‍👦!\u{1B}[D\u{1B}[Da", "a|👩‍👩‍👧‍👦!"),
        ("a\u{301}b\u{1}\u{1B}[3~", "|b"),
        ("\u{301}\u{1}e", "e\u{301}|"),
        ("\u{1B}[200~one\r\ntwo\n\u{1B}[201~", "one two|"),
        ("\u{1B}[200~a\tb\u{1B}[2Jc\u{9B}\u{1B}[201~", "a b[2Jc|"),
        ("abc\u{3}", "|"),
        ("\u{1B}[D\u{1B}[C\u{7F}\u{1B}[3~\u{b}\u{17}\u{19}", "|"),
    ]

    @Test(arguments: LineEditorTests.transcripts.indices)
    func keysAndLines(index: Int) {
        var editor = LineEditor()
        _ = Self.play(Self.transcripts[index].typed, on: &editor)
        #expect(Self.look(editor) == Self.transcripts[index].line)
    }

    @Test func aPasteWithBreaksEntersNothing() {
        var editor = LineEditor()
        #expect(Self.play("\u{1B}[200~one\ntwo\r\nthree\n\u{1B}[201~", on: &editor) == [.edited])
        #expect(Self.play("\r", on: &editor) == [.entered("one two three")])
    }

    @Test func ctrlCClearsThenWarnsThenLeaves() {
        var editor = LineEditor()
        #expect(Self.play("x\u{3}\u{3}", on: &editor) == [.edited, .dropped, .warned])
        #expect(Self.play("y\u{7F}\u{3}\u{3}", on: &editor) == [.edited, .edited, .warned, .ended])
    }

    @Test func ctrlDLeavesAnEmptyLineAlone() {
        var editor = LineEditor()
        #expect(Self.play("x\u{4}\u{1}\u{4}\u{4}", on: &editor) == [.edited, .refused, .edited, .edited, .ended])
    }

    @Test func whatCanDoNothingIsRefused() {
        var editor = LineEditor()
        let typed = "\u{1B}[D\u{1B}[C\u{7F}\u{1B}[A\u{1B}[B\u{19}\u{b}\u{14}\t"
        let effects = Self.play(typed, on: &editor)
        #expect(effects == Array(repeating: .refused, count: 9))
        #expect(Self.play("\u{c}\u{1a}", on: &editor) == [.cleared, .suspended])
    }

    @Test func aLineHasABound() {
        var editor = LineEditor()
        #expect(editor.handle(.paste(String(repeating: "x", count: LineEditor.maximumSize))) == .edited)
        #expect(editor.handle(.text("y")) == .refused)
        #expect(editor.line.utf8.count == LineEditor.maximumSize)
        #expect(editor.handle(.home) == .edited)
        #expect(editor.after.utf8.count == LineEditor.maximumSize)
    }

    // MARK: Texts of several lines

    @Test(
        arguments: [
            ("one\u{A}two", "one\ntwo|"), ("one\u{1B}\rtwo", "one\ntwo|"), ("one\u{1B}[13;2utwo", "one\ntwo|"),
            ("\u{1B}[200~one\r\ntwo\n\u{1B}[201~", "one\ntwo\n|"), ("one\u{A}two\u{1B}[Ax", "onex|\ntwo"),
            ("a\u{A}two\u{1B}[Ax", "ax|\ntwo"), ("two\u{A}a\u{1B}[Ax\u{1B}[By", "txwo\nay|"),
            ("one\u{A}two\u{1}x", "one\nx|two"), ("one\u{A}two\u{15}", "one\n|"), ("one\u{A}\u{15}", "one|"),
            ("one\u{A}two\u{1B}[A\u{1}\u{b}", "|\ntwo"), ("one\u{A}two\u{1B}[A\u{b}", "one|two"),
            ("one\u{A}日本\u{1B}[A\u{1B}[A", "subscribe b|"),
        ] as [(String, String)])
    func lines(typed: String, text: String) {
        var editor = LineEditor(history: Self.history, form: .severalLines)
        _ = Self.play(typed, on: &editor)
        #expect(Self.look(editor) == text)
    }

    @Test func enterEntersAllLines() {
        var editor = LineEditor(form: .severalLines)
        #expect(Self.play("one\u{A}two\r", on: &editor).last == .entered("one\ntwo"))
        #expect(editor.line.isEmpty)
    }

    // MARK: Undoing

    @Test func changesAreTakenBackOneByOne() {
        var editor = LineEditor()
        _ = Self.play("one two\u{17}three\u{1}", on: &editor)
        var looks: [String] = []
        while Self.play("\u{1F}", on: &editor) == [.edited] { looks.append(Self.look(editor)) }
        #expect(looks == ["one |", "one two|", "|"])
        editor.replace(before: "draft")
        #expect(Self.play("\u{1F}", on: &editor) == [.edited] && editor.line.isEmpty)
    }

    @Test func whatIsRememberedIsBounded() {
        var editor = LineEditor()
        for _ in 0..<200 { _ = Self.play("\u{1B}[200~x\u{1B}[201~", on: &editor) }
        var count = 0
        while Self.play("\u{1F}", on: &editor) == [.edited] { count += 1 }
        #expect(count == 100)
    }

    // MARK: History

    private static let history = LineHistory(["subscribe a", "trigger a e 1", "subscribe b"])

    @Test(
        arguments: [
            ("\u{1B}[A", "subscribe b|"), ("\u{1B}[A\u{1B}[A", "trigger a e 1|"),
            ("\u{1B}[A\u{1B}[A\u{1B}[A\u{1B}[A", "subscribe a|"),
            ("new\u{1B}[A\u{1B}[B", "new|"), ("new\u{1B}[A\u{1B}[B\u{1B}[B", "new|"),
            ("\u{10}\u{10}\u{e}", "subscribe b|"),
            ("\u{12}sub", "subscribe b|"), ("\u{12}sub\u{12}", "subscribe a|"),
            ("\u{12}sub\u{12}\u{12}", "subscribe a|"),
            ("\u{12}e 1\u{1B}[D!", "trigger a e !|1"), ("x\u{12}sub\u{7}", "x|"), ("x\u{12}sub\u{1B}", "x|"),
            ("xy\u{1B}[D\u{12}sub\u{3}", "x|y"), ("\u{12}trz\u{7F}", "trigger a e 1|"),
            ("\u{12}tr\u{5}\u{1B}[A", "subscribe a|"),
            ("x\u{12}tr\u{5}\u{1B}[B\u{1B}[B", "x|"),
        ] as [(String, String)])
    func earlierLines(typed: String, line: String) {
        var editor = LineEditor(history: Self.history)
        _ = Self.play(typed, on: &editor)
        #expect(Self.look(editor) == line)
    }

    @Test func aSearchSaysWhatItLooksFor() {
        var editor = LineEditor(history: Self.history)
        _ = Self.play("\u{12}tri", on: &editor)
        #expect(editor.searchPrompt == "(search)“tri”: ")
        #expect(Self.play("z", on: &editor) == [.refused])
        #expect(editor.searchPrompt == "(failing search)“triz”: ")
        #expect(Self.play("\r", on: &editor) == [.entered("trigger a e 1")])
        #expect(editor.searchPrompt == nil)
        #expect(editor.history.lines.last == "trigger a e 1")
    }

    @Test func notEveryLineIsKept() {
        var history = LineHistory()
        let long = String(repeating: "x", count: LineHistory.maximumLine + 1)
        let kept = ["a", "a", "b", "a", "", " secret", "a\nb", long].map { history.add($0) }
        #expect(kept == [true, false, true, true, false, false, false, false])
        #expect(history.lines == ["a", "b", "a"])
        for number in 0..<LineHistory.maximumCount { history.add("\(number)") }
        #expect(history.lines.count == LineHistory.maximumCount && history.lines.first == "0")
        for number in 0..<50 { history.add("\(number)" + String(repeating: "x", count: LineHistory.maximumLine - 10)) }
        #expect(history.lines.reduce(0) { $0 + $1.utf8.count + 1 } <= LineHistory.maximumSize)
        #expect(history.lines.last?.hasPrefix("49x") == true)
    }

    // MARK: How it looks

    @Test(
        arguments: [
            ("abc", "", 20, "> abc", 5), ("a", "bc", 20, "> abc", 3), ("日本", "語", 20, "> 日本語", 6),
            ("0123456789", "", 8, "> 56789", 7), ("01234", "56789", 8, "> 01234", 7),
            ("", "0123456789", 8, "> 01234", 2),
            ("日本語日本", "", 8, "> 日本", 6), ("e\u{301}e\u{301}", "x", 20, "> e\u{301}e\u{301}x", 4),
            ("", "012日本", 8, "> 012日", 2), ("", "0123日本", 8, "> 0123", 2), ("a\u{1B}b", "", 20, "> a\\u{1B}b", 10),
            ("abc", "", 1, " ", 1), ("\u{202E}x", "", 20, "> \\u{202E}x", 11),
        ] as [(String, String, Int, String, Int)])
    func aLineInItsRow(before: String, after: String, columns: Int, text: String, cursor: Int) {
        let view = LineView(prompt: "> ", before: before, after: after, columns: columns)
        #expect(view.text == text && view.cursor == cursor, "\(view)")
    }
}
