import Testing

@testable import PusherProtocol

/// The fast path through a JSON text. Unclear input takes the general path, with the same result.
struct QuoteWalkTests {
    /// - Returns: The text between the first two quotes; `nil` if the walk stops.
    private func string(in text: String, behind padding: Int = 0) -> String? {
        let bytes = Array((String(repeating: " ", count: padding) + text).utf8)
        return bytes.withUnsafeBufferPointer { buffer in
            var walk = QuoteWalk(buffer, 0..<buffer.count)
            return walk.nextString(at: padding).map { String(decoding: buffer[$0.start..<$0.end], as: UTF8.self) }
        }
    }

    /// For any position of the end of the 64-byte block.
    @Test(arguments: 0..<70)
    func itGoesPastTheEscapesThatJSONHas(padding: Int) {
        let inside = #"a\"b\\\n\/\u00e9 \ud83d\ude42"#
        #expect(string(in: "\"\(inside)\":1", behind: padding) == inside)
        #expect(string(in: #""\t""#, behind: padding) == #"\t"#)
    }

    @Test(arguments: [#""\x""#, #""\u12""#, #""\ud83d""#, #""\ude42""#, "\"\n\"", #""a"#, #""\""#, #""\"#])
    func itStopsAtWhatItIsNotSureOf(text: String) {
        for padding in 0..<70 where string(in: text, behind: padding) != nil {
            Issue.record("it goes past \(text) behind \(padding) bytes")
        }
    }
}
