import Foundation
import Testing

@testable import MatrixProtocol

@Suite struct JSONViewTests {
    /// What a view says of a value, in the form in which Foundation says it.
    private func tree(_ view: JSONView) -> Any? {
        if view.isObject {
            var object: [String: Any] = [:]
            for (key, value) in view.members { object[key] = tree(value) ?? "?" }
            return object
        }
        if let array = view.array { return array.map { tree($0) ?? "?" } }
        if let text = view.string { return text }
        if let truth = view.bool { return truth }
        if let number = view.double { return number }
        return view.isNull ? NSNull() : nil
    }

    private func isEqual(_ text: String) throws -> Bool {
        let expected = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        guard let view = JSONView(Array(text.utf8)), let actual = tree(view) else { return false }
        return isEqual(actual, expected)
    }

    private func isEqual(_ actual: Any, _ expected: Any) -> Bool {
        switch actual {
        case let object as [String: Any]:
            guard let expected = expected as? [String: Any], expected.count == object.count else { return false }
            return object.allSatisfy { key, value in expected[key].map { isEqual(value, $0) } ?? false }
        case let array as [Any]:
            guard let expected = expected as? [Any], expected.count == array.count else { return false }
            return zip(array, expected).allSatisfy { isEqual($0, $1) }
        case let text as String: return text == expected as? String
        case let truth as Bool: return truth == expected as? Bool
        case let number as Double: return number == expected as? Double
        default: return actual is NSNull && expected is NSNull
        }
    }

    @Test func randomJSONReadsAsFoundationReadsIt() throws {
        var random = RandomJSON(seed: 1)
        for _ in 0..<1500 {
            let text = random.value()
            #expect(try isEqual(text), "\(text.debugDescription)")
        }
    }

    /// Each text at every distance from the edges of the blocks of 64 bytes that the reader takes.
    @Test(
        arguments: [
            #"{"a":"b"}"#, #"{"a\"b":[1,{"c":"]}"}],"d":{}}"#, #"["\\","\\\\","\\\"","\"","\\\\\"]"]"#,
            #"{"k":"\u00e9\ud83d\ude42"}"#,
            #"[[[[[[[[]]]]]]]]"#, #"{"a":{"b":{"c":"}}}"}}}"#, #"["{[","}]",",",":"]"#, "[1,2.5,-3e2,true,false,null]",
        ])
    func blocksOf64BytesHaveNoEdges(text: String) throws {
        for shift in 0..<130 {
            let blanks = String(repeating: " ", count: shift)
            let filler = String(repeating: "x", count: shift)
            let slashes = String(repeating: "\\\\", count: shift)
            for json in [
                blanks + text, "[\(blanks)\(text)]", "{\"\(filler)\":\(text)}", "[\"\(filler)\",\(text),\"\(filler)\"]",
                "[\"\(slashes)\",\(text)]", "[\"\(filler)\(slashes)\\\"\(slashes)\",\(text)]",
            ] {
                #expect(try isEqual(json), "\(shift): \(text)")
            }
        }
    }

    @Test func aTextCutAnywhereIsRefusedOrReadWithoutHarm() throws {
        var random = RandomJSON(seed: 5)
        for _ in 0..<100 {
            let bytes = Array(random.object(depth: 2).utf8.prefix(600))
            for length in 0..<bytes.count {
                if JSONView(Array(bytes[..<length])) != nil { Issue.record("\(length) bytes of \(bytes) are taken") }
                // A view of a part that is no value: whatever it says, it says it without reading beyond.
                let part = JSONView(bytes: Array(bytes[..<length]), range: 0..<length)
                _ = tree(part)
                _ = (part.foundation, part.int, part["key"]?.string)
            }
        }
    }

    @Test func randomBytesDoNoHarm() {
        var generator = XorShift(seed: 9)
        let alphabet = Array(#"{}[]":,\"\\u00e9truefalsn 1-.e"#.utf8) + [0, 0x80, 0xFF, 0xC3]
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            let view = JSONView(bytes: bytes, range: bytes.indices)
            _ = tree(view)
            _ = JSONView(bytes).map { tree($0) }
            _ = MXEvent(json: view)
        }
    }

    @Test(arguments: ["", " ", "1 2", "{} {}", "{", "]", "{\"a\"", "\"", "\"\\\"", "[1", ",", "\u{0}"])
    func whatIsNotOneValueIsNone(text: String) {
        #expect(JSONView(Array(text.utf8)) == nil)
    }

    @Test(
        arguments: [
            ("1", 1), ("-0", 0), ("1.0", 1), ("1e2", 100), ("1.5", nil), ("1e400", nil), ("-inf", nil), ("0x10", nil),
            ("\"1\"", nil), ("true", nil), ("9223372036854775807", Int.max), ("9223372036854775808", nil),
            ("-nan", nil),
            ("1a", nil), ("1e", nil), ("-", nil), ("+1", nil),
        ] as [(String, Int?)])
    func wholeNumbers(text: String, number: Int?) throws {
        let view = try JSONView(text: text)
        #expect(view.int == number)
        if number == nil, !["1.5", "9223372036854775808"].contains(text) { #expect(view.double?.isFinite != true) }
    }

    @Test func valuesOfAnotherTypeAreNil() throws {
        let view = try JSONView(text: #"{"s":"1","n":1,"b":true,"z":null,"a":[],"o":{}}"#)
        for (key, value) in view.members {
            #expect((value.string != nil) == (key == "s"))
            #expect((value.int != nil) == (key == "n"))
            #expect((value.bool != nil) == (key == "b"))
            #expect(value.isNull == (key == "z"))
            #expect((value.array != nil) == (key == "a"))
            #expect(value.isObject == (key == "o"))
            #expect(value["x"] == nil)
        }
        #expect(view["missing"] == nil)
    }

    @Test func ofEqualKeysTheLastCounts() throws {
        #expect(try JSONView(text: #"{"a":1,"\u0061":2}"#)["a"]?.int == 2)
    }

    @Test func aStringWithABrokenEscapeIsNone() throws {
        for text in [#""\x""#, #""\u12""#, #""\ud800""#, #""\udc00\ud800""#] {
            #expect(try JSONView(text: text).string == nil)
        }
    }

    @Test func deepNestingCostsNoStack() throws {
        let depth = 1_000_000
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let view = try JSONView(text: text)
        #expect(view.array?.count == 1)
        #expect(try JSONView(text: "{\"a\":\(text),\"b\":1}")["b"]?.int == 1)
    }

    @Test func detachedValuesHaveTheirOwnBytes() throws {
        let view = try JSONView(text: #"{"a":[1,2],"b":"x"}"#)
        let detached = try #require(view["b"]).detached
        #expect(detached.bytes.count == 3)
        #expect(detached == view["b"])
        #expect(detached.string == "x")
    }

    @Test func anObjectThatWasPutTogetherIsJSON() throws {
        var inner = JSONObjectWriter()
        inner.add("empty", JSONObjectWriter())
        var object = JSONObjectWriter()
        object.add("a\"\\\u{1}\n", "é\u{1F}\"🙂")
        object.add("value", try JSONView(text: "[1,{}]"))
        object.add("inner", inner)
        let parsed = try JSONSerialization.jsonObject(with: object.view.data) as? [String: Any]
        #expect(parsed?["a\"\\\u{1}\n"] as? String == "é\u{1F}\"🙂")
        #expect(parsed?["value"] as? NSArray == [1, [:] as NSDictionary])
        #expect((parsed?["inner"] as? [String: Any])?["empty"] as? NSDictionary == [:])
        #expect(parsed?.count == 3)
    }
}
