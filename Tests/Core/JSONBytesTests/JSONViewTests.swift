import Foundation
import TestSupport
import Testing

@testable import JSONBytes

@Suite struct JSONViewTests {
    /// The value of a view, in Foundation's types.
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

    @Test func aCursorBeginsWithinItsBytes() {
        let bytes: [UInt8] = [0x31, 0x20]
        bytes.withUnsafeBufferPointer { buffer in
            for index in 0...2 { #expect(JSONCursor(buffer, at: index)?.index == index) }
            #expect(JSONCursor(buffer, at: 3)?.index == nil)
            #expect(JSONCursor(UnsafeBufferPointer(start: nil, count: 0))?.index == nil)
        }
    }

    @Test func randomJSONReadsAsFoundationReadsIt() throws {
        var random = RandomJSON(seed: 1)
        for _ in 0..<1500 {
            let text = random.value()
            #expect(try isEqual(text), "\(text.debugDescription)")
        }
    }

    /// Each text at every offset from the edges of the reader's 64-byte blocks.
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
                // A view of a range that is not a value: any result is fine, but it must not read beyond the range.
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

    @Test func elementsAreFoundByTheirPosition() throws {
        let view = try JSONView(text: #"[1,"two",[3],{"four":4}]"#)
        #expect(view[0]?.int == 1 && view[1]?.string == "two" && view[2]?[0]?.int == 3 && view[3]?["four"]?.int == 4)
        #expect(view[4] == nil && view[-1] == nil)
        #expect(try JSONView(text: "[]")[0] == nil)
        #expect(try JSONView(text: "{}")[0] == nil)
    }

    @Test(
        arguments: [
            #" { "a b" : [ 1 , "\" \\" , true ] } "#: #"{"a b":[1,"\" \\",true]}"#, "[\n1,\t2]": "[1,2]", "3": "3",
            #""a b""#: #""a b""#,
        ])
    func compactTextHasNoInsignificantWhiteSpace(text: String, compact: String) throws {
        #expect(try JSONView(text: text).compactText == compact)
    }

    @Test(
        arguments: [
            ("0.1", 0.1), ("-0", -0.0), ("1e22", 1e22), ("123456789012345678", 123_456_789_012_345_680),
            ("9007199254740993", 9_007_199_254_740_992), ("1.7976931348623157e308", .greatestFiniteMagnitude),
            ("4.9e-324", .leastNonzeroMagnitude), ("8.5e-15", 8.5e-15), ("0.000001", 1e-6),
            ("3.141592653589793238462643", 3.141592653589793238462643), ("1e-400", nil), ("1e400", nil), ("0e400", 0),
        ] as [(String, Double?)])
    func doublesAreTheNearest(text: String, number: Double?) throws {
        #expect(try JSONView(text: text).double?.bitPattern == number?.bitPattern)
    }

    @Test func randomDoublesAreReadAsTheStandardLibraryReadsThem() throws {
        var generator = XorShift(seed: 21)
        for _ in 0..<5000 {
            let digits =
                UInt64.random(in: 0...UInt64.max, using: &generator) >> UInt64.random(in: 0..<64, using: &generator)
            let text = ["\(digits)", "0.\(digits)", "\(digits).5"].randomElement(using: &generator) ?? "0"
            let exponent = Int.random(in: -30...30, using: &generator)
            let number = exponent == 0 ? text : "\(text)e\(exponent)"
            if try JSONView(text: number).double != Double(number) { Issue.record("\(number)") }
        }
    }
}

extension JSONView {
    struct NotJSON: Error {}

    init(text: String) throws {
        guard let view = JSONView(Array(text.utf8)) else { throw NotJSON() }
        self = view
    }
}
