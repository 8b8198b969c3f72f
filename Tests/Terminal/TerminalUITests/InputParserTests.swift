import TerminalUI
import TestSupport
import Testing

struct InputParserTests {
    private static let transcripts: [(String, [TerminalInput])] = [
        ("abc", [.text("abc")]),
        ("a\u{1}b", [.text("a"), .control("a"), .text("b")]),
        ("日\u{301}😀", [.text("日\u{301}😀")]),
        ("\r\n\t", [.enter, .control("j"), .tab]),
        ("\u{7F}\u{8}", [.backspace, .backspace]),
        ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.up, .down, .right, .left]),
        ("\u{1B}OA\u{1B}OH\u{1B}OF", [.up, .home, .end]),
        (
            "\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[7~\u{1B}[8~\u{1B}[3~",
            [.home, .end, .home, .end, .home, .end, .delete]
        ),
        ("\u{1B}[1;5C\u{1B}[1;3D", [.key(.right, .control), .key(.left, .alt)]),
        ("\u{1B}b\u{1B}F\u{1B}\u{7F}", [.alt("b"), .alt("F"), .key(.backspace, .alt)]),
        ("\u{1B}[15~x\u{1B}[?1;2c", [.key(.function(5)), .text("x"), .reply(.attributes([1, 2]))]),
        ("\u{1B}[200~one\r\ntwo\u{1B}[A\u{1B}[201~x", [.paste("one\r\ntwo\u{1B}[A"), .text("x")]),
        ("\u{1B}[200~\u{1B}[201~", [.paste("")]),
        ("\u{1B}\u{1B}[A", [.escape, .up]),
        ("\u{3}\u{4}\u{12}", [.control("c"), .control("d"), .control("r")]),
    ]

    @Test(arguments: InputParserTests.transcripts.indices)
    func keys(index: Int) {
        let (typed, keys) = Self.transcripts[index]
        var parser = InputParser()
        #expect(parser.parse(typed.utf8) == keys)
        #expect(parser.patience == nil)
        // Byte by byte the result is the same, except for the splitting of texts.
        var slow = InputParser()
        let slowly = typed.utf8.flatMap { slow.parse([$0]) }
        #expect(Self.joined(slowly) == Self.joined(keys))
    }

    private static func joined(_ keys: [TerminalInput]) -> [TerminalInput] {
        keys.reduce(into: []) { result, key in
            if case .text(let more) = key, case .text(let text) = result.last {
                result[result.count - 1] = .text(text + more)
            } else {
                result.append(key)
            }
        }
    }

    private static let mouseAndReplies: [(String, [TerminalInput])] = [
        ("\u{1B}[<0;3;2M", [.mouse(TerminalMouse(.pressed(button: 0), column: 2, row: 1))]),
        ("\u{1B}[<2;1;1m", [.mouse(TerminalMouse(.released(button: 2), column: 0, row: 0))]),
        (
            "\u{1B}[<64;9;9M\u{1B}[<81;9;9M",
            [
                .mouse(TerminalMouse(.scrolledUp, column: 8, row: 8)),
                .mouse(TerminalMouse(.scrolledDown, column: 8, row: 8, modifiers: .control)),
            ]
        ),
        ("\u{1B}[<35;9;9M", [.mouse(TerminalMouse(.moved, column: 8, row: 8))]),
        ("\u{1B}[<0;0;0M\u{1B}[<M\u{1B}[<99;1;1M", [.unknown, .unknown, .unknown]),
        ("\u{1B}[M !!x", [.unknown, .text("x")]),
        ("\u{1B}[I\u{1B}[O", [.focus(true), .focus(false)]),
        ("\u{1B}[5;9R", [.reply(.cursorPosition(column: 8, row: 4))]),
        ("\u{1B}[?62;4c", [.reply(.attributes([62, 4]))]),
        (
            "\u{1B}[?2026;2$y\u{1B}[?2026;0$y",
            [.reply(.mode(2026, isKnown: true)), .reply(.mode(2026, isKnown: false))]
        ),
        ("\u{1B}[?1u", [.reply(.keyboardFlags(1))]),
        ("\u{1B}[6;20;10t", [.reply(.cellSize(width: 10, height: 20))]),
        (
            "\u{1B}]11;rgb:ffff/8080/0000\u{1B}\\\u{1B}]11;rgb:f/0/7\u{7}",
            [.reply(.background(red: 255, green: 128, blue: 0)), .reply(.background(red: 255, green: 0, blue: 119))]
        ),
        ("\u{1B}_Gi=31;OK\u{1B}\\", [.reply(.graphics(id: 31, isOK: true))]),
        ("\u{1B}_Gi=31;ENOTSUP:no\u{1B}\\", [.reply(.graphics(id: 31, isOK: false))]),
        ("\u{1B}P>|tmux 3.3a\u{1B}\\x\u{1B}]52;c;?\u{7}", [.unknown, .text("x"), .unknown]),
        ("\u{1B}]11;rgb:zz/0/0\u{1B}\\\u{1B}]0;title\u{1B}[A", [.unknown, .unknown, .up]),
        (
            "\u{1B}[97;5u\u{1B}[97u\u{1B}[97;2u\u{1B}[13;2u\u{1B}[27u\u{1B}[57399u",
            [
                .control("a"), .text("aA"), .key(.enter, .shift), .escape, .unknown,
            ]
        ),
        ("\u{1B}[27;5;13~\u{1B}[27;3;97~", [.key(.enter, .control), .alt("a")]),
        ("\u{1B}[1;6A\u{1B}[5;3~\u{1B}[Z", [.key(.up, [.shift, .control]), .key(.pageUp, .alt), .key(.tab, .shift)]),
        ("\u{1B}OP\u{1B}[24~\u{1B}[5~", [.key(.function(1)), .key(.function(12)), .pageUp]),
        ("\u{1F}\u{0}", [.control("_"), .control(" ")]),
        ("\u{1B}[999999999999999999999;1H\u{1B}[;;;~", [.home, .unknown]),
    ]

    @Test(arguments: InputParserTests.mouseAndReplies.indices)
    func whatTerminalsSay(index: Int) {
        let (bytes, inputs) = Self.mouseAndReplies[index]
        var parser = InputParser()
        #expect(parser.parse(bytes.utf8) == inputs)
        var slow = InputParser()
        #expect(Self.joined(bytes.utf8.flatMap { slow.parse([$0]) }) == Self.joined(inputs))
        #expect(parser.patience == nil)
    }

    /// Reports never end up in the typed text, wherever a slow connection splits them.
    @Test(arguments: 0..<300) func noSequenceBecomesText(seed: UInt64) {
        var random = XorShift(seed: seed)
        let reports = [
            "\u{1B}[<0;3;2M", "\u{1B}[M abc".prefix(6).description, "\u{1B}[?62;4c", "\u{1B}]11;rgb:1/2/3\u{1B}\\",
            "\u{1B}_Gi=1;OK\u{1B}\\",
            "\u{1B}[I", "\u{1B}[5;9R", "\u{1B}[A", "\u{1B}OP", "\u{1B}[200~pasted\u{1B}[201~", "\u{1B}P1$r0m\u{1B}\\",
        ]
        var (bytes, typed) = ([UInt8](), "")
        for _ in 0..<30 {
            if Bool.random(using: &random) {
                bytes += Array((reports.randomElement(using: &random) ?? "").utf8)
            } else {
                bytes += Array("日x".utf8)
                typed += "日x"
            }
        }
        var (parser, text) = (InputParser(), "")
        while !bytes.isEmpty {
            let count = Int.random(in: 1...5, using: &random)
            for case .text(let part) in parser.parse(bytes.prefix(count)) { text += part }
            bytes.removeFirst(min(count, bytes.count))
        }
        #expect(text == typed)
    }

    @Test func aBeginningThatNothingFollowsIsAKeyWithAlt() {
        for (bytes, key) in [("\u{1B}[", "["), ("\u{1B}]", "]"), ("\u{1B}O", "O"), ("\u{1B}P", "P"), ("\u{1B}_", "_")] {
            var parser = InputParser()
            #expect(parser.parse(bytes.utf8) == [])
            #expect(parser.patience == .milliseconds(50))
            #expect(parser.flush() == [.alt(Character(key))])
            #expect(parser.parse("x".utf8) == [.text("x")])
        }
    }

    @Test func theEscapeKeyIsKnownByWhatDoesNotFollow() {
        var parser = InputParser()
        #expect(parser.parse([0x1B]) == [])
        #expect(parser.patience == .milliseconds(50))
        #expect(parser.flush() == [.escape])
        #expect(parser.flush() == [])
        #expect(parser.parse([0x1B]) == [])
        #expect(parser.parse("[A".utf8) == [.up])
    }

    @Test func bytesThatAreNoTextAreReplacedOneByOne() {
        var parser = InputParser()
        #expect(parser.parse([0xFF, 0x61, 0xC0, 0xE3, 0x28]) == [.text("\u{FFFD}a\u{FFFD}\u{FFFD}(")])
        #expect(parser.parse([0xE6, 0x97]) == [])
        #expect(parser.parse([0xA5]) == [.text("日")])
    }

    @Test func whatIsKeptIsBounded() {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}[".utf8 + Array(repeating: UInt8(ascii: "1"), count: 100)) == [])
        #expect(parser.parse("22;mx".utf8) == [.unknown, .text("x")])
        _ = parser.parse("\u{1B}[200~".utf8)
        var inputs: [TerminalInput] = []
        for _ in 0..<40 { inputs += parser.parse(Array(repeating: UInt8(ascii: "x"), count: 1 << 16)) }
        inputs += parser.parse("\u{1B}[201~".utf8)
        #expect(inputs == [.paste(String(repeating: "x", count: 1 << 20))])
    }

    @Test(arguments: ["]", "P", "X", "^", "_"]) func altTakesNothingOfWhatIsTypedBehindIt(key: Character) {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}\(key)hello\r".utf8) == [.alt(key), .text("hello"), .enter])
        #expect(parser.patience == nil)
    }

    @Test func anAnswerWithoutAnEndGivesTheKeyboardBack() {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}]11;rgb:".utf8) == [])
        #expect(parser.patience == .seconds(1))
        #expect(parser.flush() == [.unknown])
        #expect(parser.parse("\u{1B}]11;x\u{3}y".utf8) == [.unknown, .control("c"), .text("y")])
    }

    @Test func aPasteWithoutAnEndGivesTheKeyboardBack() {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}[200~one\u{1B}[20".utf8) == [])
        #expect(parser.patience == .seconds(1))
        #expect(parser.flush() == [.paste("one\u{1B}[20")])
        #expect(parser.parse("x".utf8) == [.text("x")])
    }

    @Test(arguments: ["\u{3}", "\u{1B}[99;5u"]) func controlCGivesUpAPasteThatDoesNotEnd(key: String) {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}[200~one".utf8) == [])
        #expect(parser.parse(key.utf8) == [.control("c")])
        #expect(parser.parse(key.utf8) == [.control("c")])
        // The rest of the paste does not count as typing, because it could submit itself.
        #expect(parser.parse("two\r".utf8) == [])
        #expect(parser.parse("three\u{1B}[201~x".utf8) == [.text("x")])
        #expect(parser.patience == nil)
        #expect(parser.parse("\u{1B}[200~one\(key)\(key)".utf8) == [.control("c"), .control("c")])
        #expect(parser.patience == .milliseconds(200))
        #expect(parser.flush() == [])
        #expect(parser.parse("x".utf8) == [.text("x")])
    }

    @Test func controlCInTheMiddleOfAPasteIsPartOfIt() {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}[200~a\u{3}b\u{1B}[201~\u{3}".utf8) == [.paste("a\u{3}b"), .control("c")])
    }

    /// Keys pressed while nothing ends the paste do not fill it forever.
    @Test func aPasteThatIsTooLongIsHandedOverAtOnce_andTheRestIsPassedOver() {
        var parser = InputParser()
        let mebibyte = Array(repeating: UInt8(ascii: "x"), count: 1 << 20)
        guard case .paste(let text) = parser.parse("\u{1B}[200~".utf8 + mebibyte + "tail".utf8).first else {
            Issue.record("no paste")
            return
        }
        #expect(text.utf8.count == 1 << 20)
        #expect(parser.parse(mebibyte) == [])
        #expect(parser.patience == .milliseconds(200))
        #expect(parser.parse("\u{1B}[201~y".utf8) == [.text("y")])
    }

    @Test func theRestOfASequenceThatWasSlowIsNoText() {
        var parser = InputParser()
        #expect(parser.parse("\u{1B}[<0;1".utf8) == [])
        #expect(parser.flush() == [.unknown])
        #expect(parser.parse("2;7Mx".utf8) == [.unknown, .text("x")])
    }

    @Test func shiftWithF3IsNoCursorReport() {
        let report = TerminalInput.reply(.cursorPosition(column: 1, row: 0))
        var parser = InputParser(awaitedReports: 1)
        #expect(parser.parse("\u{1B}[1;2R".utf8) == [report])
        #expect(
            parser.parse("\u{1B}[1;2R\u{1B}[1;6R".utf8) == [
                .key(.function(3), .shift), .key(.function(3), [.shift, .control]),
            ])
        #expect(
            parser.parse("\u{1B}[7;2R\u{1B}[1;40R".utf8) == [
                .reply(.cursorPosition(column: 1, row: 6)), .reply(.cursorPosition(column: 39, row: 0)),
            ])
        var answered = InputParser(awaitedReports: 3)
        #expect(
            answered.parse("\u{1B}[?62c\u{1B}[1;2R".utf8) == [.reply(.attributes([62])), .key(.function(3), .shift)])
    }
}
