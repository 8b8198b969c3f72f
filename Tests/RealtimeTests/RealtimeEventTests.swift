import Foundation
import Realtime
import Testing

struct RealtimeEventTests {
    /// What stands between the quotes of a JSON string, and what Foundation reads there.
    @Test(arguments: [
        #"plain"#, #""#, #"a\"b"#, #"\\\/\b\f\n\r\t"#, #"\u0041\u00e9\u2603"#, #"\ud83d\ude00"#, #"x\u0000y"#,
        #"{\"some\":\"data\"}"#, "ü☃😀", #"\u2028"#,
    ])
    func unescapesAsFoundationDoes(inside: String) throws {
        let expected = try #require(
            try JSONSerialization.jsonObject(with: Data("[\"\(inside)\"]".utf8)) as? [String])
        let bytes = Array(inside.utf8)
        var layout = RealtimeEvent.Layout()
        layout.dataForm = .jsonString
        let event = RealtimeEvent(bytes: bytes, range: bytes.indices, layout: layout, dataEnd: UInt32(bytes.count))
        #expect(event.data == expected[0])
    }

    @Test(arguments: [#"\x"#, #"\"#, #"\u12"#, #"\u12g4"#, #"\ud800"#, #"\ud800\u0041"#, #"\ude00"#])
    func malformedEscapesAreSeen(text: String) {
        Array(text.utf8).withUnsafeBufferPointer { #expect(JSONString.escapeWidth($0, at: 0) == nil) }
    }

    @Test func descriptionsHoldNoData() {
        let event = RealtimeEvent(name: "e", channel: "c", data: "secret")
        #expect("\(event)" == "event e on channel c")
        #expect(!String(reflecting: event).contains("secret"))
    }
}
