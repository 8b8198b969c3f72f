import TestSupport
import Testing

@testable import CommandKit
@testable import PusherCommands

struct LineSplitterTests {
    /// The lines of a text that arrives in pieces of the given size; `nil` for unusable lines.
    private func lines(_ bytes: [UInt8], pieces: Int, maximumLength: Int = 5) -> [String?] {
        var splitter = LineSplitter(maximumLength: maximumLength)
        var lines: [InputLine] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            lines += splitter.split(bytes[start..<min(start + pieces, bytes.count)])
        }
        lines += splitter.end().map { [$0] } ?? []
        #expect(lines.map(\.number) == Array(1..<(lines.count + 1)))
        return lines.map { try? $0.text.get() }
    }

    @Test(arguments: 1..<12)
    func piecesDoNotMatter(pieces: Int) {
        #expect(
            lines(Array("a\n\nänd\r\n12345\n123456\nlast".utf8), pieces: pieces) == [
                "a", "", "änd", "12345", nil, "last",
            ])
        #expect(
            lines(Array("\r\n\r\r\n12345\r\n12345\r\r\na\rb\nlast\r".utf8), pieces: pieces) == [
                "", "\r", "12345", nil, "a\rb", "last\r",
            ])
        #expect(lines(Array("1234567890\nok\n".utf8), pieces: pieces) == [nil, "ok"])
        #expect(lines([0x61, 0xFF, 0x0A, 0x62, 0x0A], pieces: pieces) == [nil, "b"])
        #expect(lines([], pieces: pieces) == [])
    }

    @Test func aLineWithoutEndIsRefusedOnce() throws {
        var splitter = LineSplitter(maximumLength: 4)
        let text = Array(repeating: UInt8(ascii: "x"), count: 6)[...]
        let line = try #require(splitter.split(text).first)
        #expect(line.number == 1)
        #expect(throws: CommandFailure.self) { try line.text.get() }
        #expect(splitter.split(text).isEmpty && splitter.split(text).isEmpty)
        let next = splitter.split(Array("x\nok\n".utf8)[...])
        #expect(next.map(\.number) == [2] && next.map { try? $0.text.get() } == ["ok"])
        #expect(splitter.end() == nil)
        _ = splitter.split(text)
        #expect(splitter.end() == nil)
    }

    @Test func aLongLineSaysHowLongItIs() throws {
        var splitter = LineSplitter(maximumLength: 4)
        let line = try #require(splitter.split(Array("123456789\n".utf8)[...]).first)
        #expect(throws: CommandFailure.self) { try line.text.get() }
        if case .failure(let failure) = line.text {
            #expect(failure.description == "it has 9 bytes, at most 4 are allowed")
        }
    }
}
