import Foundation
import Testing

@testable import JSONBytes

@Suite struct JSONBytesDecoderTests {
    private func decode<Value: Decodable>(
        _ type: Value.Type, _ text: String, _ decoder: JSONBytesDecoder = JSONBytesDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Array(text.utf8))
    }

    /// The result of either decoder: a value, or an error and its place.
    private func outcome(_ body: () throws -> some Any) -> String {
        do {
            return "\(try body())"
        } catch {
            return (error as? DecodingError).map(\.outcome) ?? "\(error)"
        }
    }

    private struct Everything: Decodable {
        enum Side: String, Decodable { case buy, sell }
        enum Shape: Decodable, Equatable {
            case circle(radius: Double)
            case text(String)
            case none
        }
        struct Inner: Decodable { var list: [[Int?]] }

        var bool: Bool
        var text: String
        var int8: Int8
        var uint64: UInt64
        var wide: Int128
        var float: Float
        var double: Double
        var date: Date
        var data: Data
        var url: URL
        var decimal: Decimal
        var side: Side
        var shapes: [Shape]
        var inner: Inner
        var table: [String: Double]
        var numbered: [Int: String]
        var maybe: String?
        var absent: Int?
    }

    private static let everything = #"""
        {"bool":true,"text":"a\u00e9\n\ud83d\ude42","int8":-128,"uint64":18446744073709551615,
        "wide":-170141183460469231731687303715884105728,"float":1.1,"double":-2.5e-3,"date":0.5,"data":"AQID",
        "url":"https://example.com/a?b=c","decimal":0.1000000000000000000000000001,"side":"sell",
        "shapes":[{"circle":{"radius":1.5}},{"text":{"_0":"x"}},{"none":{}}],
        "inner":{"list":[[1,null,3],[]]},"table":{"b":2,"a":1},"numbered":{"1":"x","2":"y"},"maybe":null}
        """#

    @Test func aTypeOfEveryKindIsDecoded() throws {
        let value = try decode(Everything.self, Self.everything)
        #expect(value.bool && value.text == "aé\n🙂" && value.int8 == -128 && value.uint64 == .max && value.wide == .min)
        #expect(value.float == 1.1 && value.double == -0.0025)
        #expect(value.date == Date(timeIntervalSinceReferenceDate: 0.5) && value.data == Data([1, 2, 3]))
        #expect(value.url.absoluteString == "https://example.com/a?b=c")
        #expect(value.decimal == Decimal(string: "0.1000000000000000000000000001"))
        #expect(value.side == .sell && value.shapes == [.circle(radius: 1.5), .text("x"), .none])
        #expect(value.inner.list == [[1, nil, 3], []] && value.table == ["a": 1, "b": 2])
        #expect(value.numbered == [1: "x", 2: "y"] && value.maybe == nil && value.absent == nil)
    }

    @Test func whatIsWrongIsSaidAsFoundationSaysIt() throws {
        for (right, wrong) in [
            (#""bool":true"#, #""bool":1"#), (#""bool":true"#, #""bool":null"#), (#""bool":true,"#, ""),
            (#""int8":-128"#, #""int8":"x""#), (#""int8":-128"#, #""int8":null"#), (#""text":"#, #""text":[],"x":"#),
            (#""side":"sell""#, #""side":"keep""#), (#""radius":1.5"#, #""radius":true"#), (#""radius""#, #""r""#),
            (#""none":{}"#, #""other":{}"#), ("[1,null,3]", "[1,null,{}]"), ("[[1,null,3],[]]", "[[1,null,3],7]"),
            (#""list":"#, #""array":"#), (#"{"b":2"#, #"{"b":"2""#), (#""data":"AQID""#, #""data":"A""#),
            (#""data":"AQID""#, #""data":1"#), (#""url":"https"#, #""url":"","x":"https"#),
            (#""date":0.5"#, #""date":"x""#),
            (#""date":0.5"#, #""date":null"#), (#""decimal":0.1"#, #""decimal":"0.1","x":0.1"#),
            (#""inner":{"list":[[1,null,3],[]]}"#, #""inner":null"#),
            (#""inner":{"list":[[1,null,3],[]]}"#, #""inner":3"#),
            (#""numbered":{"1""#, #""numbered":{"one""#), (Self.everything, "[]"), (Self.everything, "null"),
        ] {
            #expect(Self.everything.contains(right))
            let text = Self.everything.replacingOccurrences(of: right, with: wrong)
            let theirs = outcome { try JSONDecoder().decode(Everything.self, from: Data(text.utf8)) }
            #expect(outcome { try decode(Everything.self, text) } == theirs, "\(wrong)")
            #expect(!theirs.hasPrefix("Everything"), "\(wrong)")
        }
    }

    @Test(
        arguments: [
            "", " ", "{", "}", "[1", "[1,]", #"{"a":1,}"#, #"{"a" 1}"#, #"{1:2}"#, #"{"a":1 "b":2}"#, "[1 2]", "01",
            "1.",
            ".5", "-", "+1", "1e", "0x10", "nul", "truE", "nullx", "NaN", #"""#, #""\x""#, #""\ud800""#, #""\u12""#,
            "\"\n\"", "1 2", "{}{}", "[1]]", "\u{0}", "[\u{0}]", "\u{FEFF}1", #"["a":1]"#, "{,}", "[,]", "//", "[1}",
        ])
    func whatIsNotJSONIsRefused(text: String) {
        for wrapped in [text, #"{"unused":\#(text)}"#] where wrapped != #"{"unused":{}{}}"# {
            #expect(outcome { try decode([String: Int].self, wrapped) }.hasPrefix("data corrupted"), "\(wrapped)")
        }
    }

    @Test func bytesThatAreNotUTF8AreRefusedWhereverTheyStand() {
        for text in [#"{"a":"x"}"#, #"{"x":"y"}"#] {
            let bytes = Array(text.utf8).map { $0 == UInt8(ascii: "x") ? 0xFF : $0 }
            #expect(throws: DecodingError.self) { try JSONBytesDecoder().decode([String: String].self, from: bytes) }
        }
        let wide = Data("[1]".utf16.flatMap { [UInt8($0), 0] })
        #expect(throws: DecodingError.self) { try JSONBytesDecoder().decode([Int].self, from: wide) }
    }

    private struct Nested: Decodable {
        var inner: [Nested]

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            inner = []
            while !list.isAtEnd { inner.append(try list.decode(Nested.self)) }
        }
    }

    @Test func nestingIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try decode(Nested.self, nested(512)).inner.count == 1)
        for depth in [513, 1_000_000] {
            #expect(throws: DecodingError.self) { try decode(Nested.self, nested(depth)) }
            #expect(throws: DecodingError.self) { try decode([Int].self, String(repeating: "[", count: depth)) }
            #expect(throws: DecodingError.self) {
                try decode([Int].self, String(repeating: #"{"a":"#, count: depth))
            }
        }
        // Containers that ended before do not count.
        for neighbour in ["{}", "[]", #"{"a":1}"#, "[1]", #"{"a":{}}"#] {
            #expect(JSONView.isJSON("[\(neighbour),\(nested(511))]"), "\(neighbour)")
            #expect(!JSONView.isJSON("[\(neighbour),\(nested(512))]"), "\(neighbour)")
        }
    }

    @Test func whiteSpaceIsThatOfJSON() throws {
        #expect(try decode([String: [Int]].self, " \t\r\n{ \r\n\"a\"\t:\r[ 1\r,\n2 ]\t}\r ") == ["a": [1, 2]])
        for other in ["\u{B}", "\u{C}", "\u{A0}", "\u{0}"] {
            #expect(throws: DecodingError.self) { try decode([Int].self, "[\(other)1]") }
        }
    }

    @Test func ofEqualKeysTheLastCounts() throws {
        #expect(try decode([String: Int].self, #"{"a":1,"b":2,"a":3,"\u0062":4}"#) == ["a": 3, "b": 4])
        struct Two: Decodable, Equatable { var a, b: Int }
        for filler in [0, 1, 20, 40, 200] {
            let others = (0..<filler).map { #","k\#($0)":0"# }.joined()
            let text = #"{"a":1,"b":2\#(others),"a":3}"#
            #expect(try decode(Two.self, text) == Two(a: 3, b: 2))
        }
    }

    @Test func ofEqualKeysAllKeysHasOne() throws {
        struct Keys: Decodable {
            var keys: [String]
            init(from decoder: any Decoder) throws {
                keys = try decoder.container(keyedBy: PathKey.self).allKeys.map(\.stringValue)
            }
        }
        #expect(try decode(Keys.self, #"{"a":1,"b":2,"a":3,"\u0062":4}"#).keys == ["a", "b"])
        var decoder = JSONBytesDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decode(Keys.self, #"{"one_two":1,"three":2,"oneTwo":3}"#, decoder).keys == ["three", "oneTwo"])
    }

    @Test(arguments: [1, 8, 31, 32, 33, 64, 500])
    func membersAreFoundInAnyOrder(count: Int) throws {
        struct Reversed: Decodable {
            var sum = 0
            init(from decoder: any Decoder) throws {
                let members = try decoder.container(keyedBy: PathKey.self)
                for key in members.allKeys.reversed() { sum += try members.decode(Int.self, forKey: key) }
                #expect(!members.contains(PathKey("other")) && members.contains(PathKey("k0")))
            }
        }
        let text = "{" + (0..<count).map { #""k\#($0)":\#($0)"# }.joined(separator: ",") + "}"
        #expect(try decode(Reversed.self, text).sum == count * (count - 1) / 2)
        #expect(try decode([String: Int].self, text).count == count)
    }

    /// Looking up each of 50,000 members, with a coding path for each, must not walk over all of them.
    @Test func largeObjectsAndArraysCostNoSquare() throws {
        var decoder = JSONBytesDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            Date(timeIntervalSinceReferenceDate: Double(decoder.codingPath.last?.intValue ?? decoder.codingPath.count))
        }
        decoder.keyDecodingStrategy = .custom { $0.last ?? PathKey("") }
        let count = 50_000
        let clock = ContinuousClock()
        let text = "{" + (0..<count).map { #""k\#($0)":[{"a":1}]"# }.joined(separator: ",") + "}"
        struct Element: Decodable { var a: Date }
        let dates = "[" + String(repeating: "0,", count: count) + "0]"
        let start = clock.now
        #expect(try decode([String: [Element]].self, text, decoder).count == count)
        #expect(try decode([Date].self, dates, decoder).last?.timeIntervalSinceReferenceDate == Double(count))
        #expect(clock.now - start < .seconds(20))
    }

    @Test(
        arguments: [
            ("1.0", 1), ("1e2", 100), ("-0", 0), ("-0.0", 0), ("100e-2", 1), ("127", 127), ("128", nil), ("-129", nil),
            ("1.5", nil), ("1e400", nil), ("\"1\"", nil), ("9223372036854775808", nil), ("0e999999999999", 0),
        ] as [(String, Int8?)])
    func wholeNumbersHaveRanges(text: String, number: Int8?) {
        #expect((try? decode(Int8.self, text)) == number)
        #expect((try? decode(Int8.self, text)) == (try? JSONDecoder().decode(Int8.self, from: Data(text.utf8))))
    }

    /// From 2⁵³ on, a Double cannot distinguish adjacent whole numbers.
    @Test(
        arguments: [
            ("9007199254740993.0", 9_007_199_254_740_993), ("-9007199254740993.00", -9_007_199_254_740_993),
            ("9007199254740993.5", nil), ("900719925474099.3e1", 9_007_199_254_740_993),
            ("90071992547409930e-1", 9_007_199_254_740_993), ("9007199254740993e1", 90_071_992_547_409_930),
            ("9223372036854775807.0", .max), ("-9223372036854775808.0", .min), ("9223372036854775808.0", nil),
            ("922337203685477580.8e1", nil), ("1e19", nil), ("9223372036854775807e1", nil),
            ("1e99999999999999999999", nil), ("-1e99999999999999999999", nil), ("1.0E+99999999999999999999", nil),
            ("0e99999999999999999999", 0), ("9007199254740993e00000000000000000000001", 90_071_992_547_409_930),
            ("0.0000000000000000000000009007199254740993e40", 9_007_199_254_740_993),
        ] as [(String, Int?)])
    func wholeNumbersAreExactInEverySpelling(text: String, number: Int?) {
        #expect((try? decode(Int.self, text)) == number)
    }

    @Test func strategiesAreThoseOfFoundation() throws {
        var ours = JSONBytesDecoder()
        let theirs = JSONDecoder()
        func agree<Value: Decodable & Equatable>(_ type: Value.Type, _ text: String) throws {
            let value = try decode(type, text, ours)
            #expect(try theirs.decode(type, from: Data(text.utf8)) == value)
        }
        (ours.dateDecodingStrategy, theirs.dateDecodingStrategy) = (.secondsSince1970, .secondsSince1970)
        try agree([Date].self, "[0,1.5,-3]")
        (ours.dateDecodingStrategy, theirs.dateDecodingStrategy) = (.millisecondsSince1970, .millisecondsSince1970)
        try agree(Date.self, "1700000000123")
        (ours.dateDecodingStrategy, theirs.dateDecodingStrategy) = (.iso8601, .iso8601)
        try agree(Date.self, #""2026-01-31T12:00:00Z""#)
        #expect(outcome { try decode([Date].self, #"["yesterday"]"#, ours) } == "data corrupted at Index 0")
        #expect(outcome { try decode([Date].self, "[1]", ours) } == "no String at Index 0")
        (ours.dataDecodingStrategy, theirs.dataDecodingStrategy) = (.deferredToData, .deferredToData)
        try agree(Data.self, "[1,2,255]")
        ours.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        #expect(try decode([Double].self, #"["inf","-inf",1]"#, ours) == [.infinity, -.infinity, 1])
        #expect(try decode(Float.self, #""nan""#, ours).isNaN)
        #expect(outcome { try decode(Double.self, #""x""#, ours) } == "no Double at ")
        let key = try #require(CodingUserInfoKey(rawValue: "unit"))
        struct Unit: Decodable {
            var name: String?
            init(from decoder: any Decoder) {
                name = CodingUserInfoKey(rawValue: "unit").flatMap { decoder.userInfo[$0] as? String }
            }
        }
        ours.userInfo[key] = "EUR"
        #expect(try decode(Unit.self, "0", ours).name == "EUR")
    }

    @Test(
        arguments: [
            "one_two_three", "_one_two_", "__x__", "_", "___", "", "a__b", "ABC_dEF", "already", "aB_c", "x_1y", "é_ü",
        ])
    func snakeCaseIsConvertedAsFoundationConvertsIt(key: String) throws {
        struct Names: Decodable, Equatable {
            var names: [String]
            init(from decoder: any Decoder) throws {
                names = try decoder.container(keyedBy: PathKey.self).allKeys.map(\.stringValue)
            }
        }
        var ours = JSONBytesDecoder()
        let theirs = JSONDecoder()
        (ours.keyDecodingStrategy, theirs.keyDecodingStrategy) = (.convertFromSnakeCase, .convertFromSnakeCase)
        let text = #"{"\#(key)":1}"#
        #expect(try decode(Names.self, text, ours) == theirs.decode(Names.self, from: Data(text.utf8)))
        #expect(try decode([String: Int].self, text, ours) == [key: 1])
    }

    @Test func aDictionaryHasTheKeysOfTheTextAlsoInItsErrors() throws {
        struct Twice: Decodable {
            var members: [String: Int]
            init(from decoder: any Decoder) throws {
                #expect(try decoder.container(keyedBy: PathKey.self).contains(PathKey("oneTwo")))
                members = try decoder.singleValueContainer().decode([String: Int].self)
            }
        }
        var ours = JSONBytesDecoder()
        let theirs = JSONDecoder()
        (ours.keyDecodingStrategy, theirs.keyDecodingStrategy) = (.convertFromSnakeCase, .convertFromSnakeCase)
        #expect(try decode(Twice.self, #"{"one_two":1}"#, ours).members == ["one_two": 1])
        let wrong = #"{"one_two":"x"}"#
        let said = outcome { try decode(Twice.self, wrong, ours) }
        #expect(said == "no Int at one_two")
        #expect(said == outcome { try theirs.decode(Twice.self, from: Data(wrong.utf8)) })
    }

    private struct Kept: Decodable {
        var decoder: any Decoder
        init(from decoder: any Decoder) { self.decoder = decoder }
    }

    @Test func aDecoderThatIsKeptGoesOnReading() throws {
        let kept = try decode([Kept].self, #"[1,{"a":"text of some length that is stored elsewhere"}]"#)
        let members = try kept[1].decoder.container(keyedBy: PathKey.self)
        #expect(try members.decode(String.self, forKey: PathKey("a")).hasPrefix("text"))
        #expect(kept[1].decoder.codingPath.map(\.intValue) == [1])
    }

    private class Base: Decodable {
        var id: Int
    }

    private final class Derived: Base {
        var name: String
        enum CodingKeys: CodingKey { case name }
        required init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            name = try members.decode(String.self, forKey: .name)
            try super.init(from: members.superDecoder())
        }
    }

    @Test func superclassesAreDecoded() throws {
        let value = try decode(Derived.self, #"{"name":"x","super":{"id":7}}"#)
        #expect(value.id == 7 && value.name == "x")
        for text in [#"{"name":"x"}"#, #"{"name":"x","super":{}}"#, #"{"name":"x","super":[]}"#] {
            let theirs = outcome { try JSONDecoder().decode([Derived].self, from: Data("[\(text)]".utf8)) }
            #expect(outcome { try decode([Derived].self, "[\(text)]") } == theirs)
        }
    }
}

extension DecodingError {
    /// The case, type and path of the error.
    var outcome: String {
        func path(_ context: Context) -> String { context.codingPath.map(\.stringValue).joined(separator: ".") }
        return switch self {
        case .keyNotFound(let key, let context): "no key \(key.stringValue) at \(path(context))"
        case .typeMismatch(let type, let context): "no \(type) at \(path(context))"
        case .valueNotFound(let type, let context): "null for \(type) at \(path(context))"
        case .dataCorrupted(let context): "data corrupted at \(path(context))"
        @unknown default: "\(self)"
        }
    }
}
