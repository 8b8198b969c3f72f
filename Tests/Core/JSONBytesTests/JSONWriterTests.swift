import Foundation
import Testing

@testable import JSONBytes

@Suite struct JSONWriterTests {
    @Test func anObjectThatWasPutTogetherIsJSON() throws {
        var inner = JSONWriter()
        inner.add("empty", JSONWriter())
        var object = JSONWriter()
        object.add("a\"\\\u{1}\n", "é\u{1F}\"🙂")
        object.add("value", try JSONView(text: "[1,{}]"))
        object.add("json", json: "2.5")
        object.add("inner", inner)
        let parsed = try JSONSerialization.jsonObject(with: object.view.data) as? [String: Any]
        #expect(parsed?["a\"\\\u{1}\n"] as? String == "é\u{1F}\"🙂")
        #expect(parsed?["value"] as? NSArray == [1, [:] as NSDictionary])
        #expect(parsed?["json"] as? Double == 2.5)
        #expect((parsed?["inner"] as? [String: Any])?["empty"] as? NSDictionary == [:])
        #expect(parsed?.count == 4)
    }

    @Test func textsAreQuotedAsFoundationQuotesThem() throws {
        for scalar in (0..<0x250).compactMap({ Unicode.Scalar($0 as UInt32) }) + ["\u{2028}", "🙂", "\u{FFFF}"] {
            let text = "a\(scalar)b"
            let theirs = try JSONSerialization.data(
                withJSONObject: text, options: [.fragmentsAllowed, .withoutEscapingSlashes])
            #expect(JSONString.quoted(text) == String(decoding: theirs, as: UTF8.self))
        }
    }
}
