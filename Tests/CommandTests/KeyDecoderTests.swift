import Testing

@testable import pusher_cli

struct KeyDecoderTests {
    private static let transcripts: [(String, [Key])] = [
        ("abc", [.text("abc")]),
        ("a\u{1}b", [.text("a"), .control("a"), .text("b")]),
        ("日\u{301}😀", [.text("日\u{301}😀")]),
        ("\r\n\t", [.enter, .enter, .tab]),
        ("\u{7F}\u{8}", [.backspace, .backspace]),
        ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.up, .down, .right, .left]),
        ("\u{1B}OA\u{1B}OH\u{1B}OF", [.up, .home, .end]),
        (
            "\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[7~\u{1B}[8~\u{1B}[3~",
            [.home, .end, .home, .end, .home, .end, .delete]
        ),
        ("\u{1B}[1;5C\u{1B}[1;3D", [.alt("f"), .alt("b")]),
        ("\u{1B}b\u{1B}F\u{1B}\u{7F}", [.alt("b"), .alt("f"), .alt("\u{7F}")]),
        ("\u{1B}[15~x\u{1B}[?1;2c", [.other, .text("x"), .other]),
        ("\u{1B}[200~one\r\ntwo\u{1B}[A\u{1B}[201~x", [.paste("one\r\ntwo\u{1B}[A"), .text("x")]),
        ("\u{1B}[200~\u{1B}[201~", [.paste("")]),
        ("\u{1B}\u{1B}[A", [.escape, .up]),
        ("\u{3}\u{4}\u{12}", [.control("c"), .control("d"), .control("r")]),
    ]

    @Test(arguments: KeyDecoderTests.transcripts.indices)
    func keys(index: Int) {
        let (typed, keys) = Self.transcripts[index]
        var decoder = KeyDecoder()
        #expect(decoder.decode(typed.utf8) == keys)
        #expect(!decoder.isWaiting)
        // Byte by byte it is the same, but for how texts are cut.
        var slow = KeyDecoder()
        let slowly = typed.utf8.flatMap { slow.decode([$0]) }
        #expect(Self.joined(slowly) == Self.joined(keys))
    }

    private static func joined(_ keys: [Key]) -> [Key] {
        keys.reduce(into: []) { result, key in
            if case .text(let more) = key, case .text(let text) = result.last {
                result[result.count - 1] = .text(text + more)
            } else {
                result.append(key)
            }
        }
    }

    @Test func theEscapeKeyIsKnownByWhatDoesNotFollow() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]) == [])
        #expect(decoder.isWaiting)
        #expect(decoder.flush() == [.escape])
        #expect(decoder.flush() == [])
        #expect(decoder.decode([0x1B]) == [])
        #expect(decoder.decode("[A".utf8) == [.up])
    }

    @Test func bytesThatAreNoTextAreReplacedOneByOne() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0xFF, 0x61, 0xC0, 0xE3, 0x28]) == [.text("\u{FFFD}a\u{FFFD}\u{FFFD}(")])
        #expect(decoder.decode([0xE6, 0x97]) == [])
        #expect(decoder.decode([0xA5]) == [.text("日")])
    }

    @Test func whatIsKeptIsBounded() {
        var decoder = KeyDecoder()
        #expect(decoder.decode("\u{1B}[".utf8 + Array(repeating: UInt8(ascii: "1"), count: 100)) == [.other])
        _ = decoder.decode("\u{1B}[200~".utf8)
        for _ in 0..<40 { #expect(decoder.decode(Array(repeating: UInt8(ascii: "x"), count: 1 << 16)) == []) }
        guard case .paste(let text) = decoder.decode("\u{1B}[201~".utf8).first else {
            Issue.record("no paste")
            return
        }
        #expect(text.utf8.count == 1 << 20)
    }
}
