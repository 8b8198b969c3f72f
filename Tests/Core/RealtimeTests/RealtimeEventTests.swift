import Basics
import Foundation
import JSONBytes
import Realtime
import Testing

struct RealtimeEventTests {
    /// The content of a JSON string, and Foundation's reading of it.
    @Test(arguments: [
        #"plain"#, #""#, #"a\"b"#, #"\\\/\b\f\n\r\t"#, #"\u0041\u00e9\u2603"#, #"\ud83d\ude00\ud83d\udfff\udbff\udfff"#,
        #"x\u0000y"#,
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

    @Test(arguments: [
        #"\x"#, #"\"#, #"\u12"#, #"\u12g4"#, #"\ud800"#, #"\ud800\u0041"#, #"\ude00"#, #"\ud83d\nde00"#,
        #"\ud83dxude00"#, #"\ud83d\ud83d"#,
    ])
    func malformedEscapesAreSeen(text: String) {
        Array(text.utf8).withUnsafeBufferPointer { #expect(JSONString.escapeWidth($0, at: 0) == nil) }
    }

    @Test func descriptionsHoldNoData() {
        let event = RealtimeEvent(name: "e", channel: "c", data: "secret")
        #expect("\(event)" == "event e on channel c")
        #expect(!String(reflecting: event).contains("secret"))
    }

    // MARK: Parts

    private static let frame = #"{"event":"e\"x","channel":"c","user_id":"u","data":"a\"b"}"#

    /// The event of ``frame``, after an additional byte.
    private func viewed() -> RealtimeEvent {
        var layout = RealtimeEvent.Layout()
        layout.name = RealtimeEvent.Span(10, 14)
        layout.channel = RealtimeEvent.Span(27, 28)
        layout.user = RealtimeEvent.Span(41, 42)
        layout.dataStart = 52
        layout.dataForm = .jsonString
        let bytes = Array((" " + Self.frame).utf8)
        return RealtimeEvent(bytes: bytes, range: 1..<bytes.count, layout: layout, dataEnd: 56)
    }

    @Test func aViewReadsEachPartWhereItStands() {
        let event = viewed()
        #expect(event.eventName == #"e\"x"#)
        #expect(event.channelName == "c")
        #expect(event.userId == "u")
        #expect(event.data == #"a"b"#)
        #expect(event.dataBytes == Array(#"a"b"#.utf8))
        #expect(event.frame == Array(Self.frame.utf8)[...])
        #expect(event.hasChannel && event.isOn(ByteKey("c")) && !event.isOn(ByteKey("d")))
        #expect(event.isNamed(ByteKey(#"e\"x"#)) && !event.isNamed(ByteKey("e")))
        #expect(event.channelKey == ByteKey("c"))
        let unescaped = event.unescapingNames()
        #expect(unescaped.eventName == #"e"x"#)
        #expect(unescaped.channelName == "c" && unescaped.userId == "u" && unescaped.data == #"a"b"#)
    }

    @Test func otherDataLeavesTheRest() {
        let event = viewed().withData(Array("☃".utf8))
        #expect(event.data == "☃")
        #expect(event.eventName == #"e\"x"# && event.channelName == "c" && event.userId == "u")
        #expect(event.frame == nil)
        let bare = RealtimeEvent(name: "e", channel: nil, data: nil).withData([])
        #expect(RealtimeEvent(name: "e", channel: nil, data: nil).frame == nil)
        #expect(bare.data == "")
        #expect(bare.channelName == nil && bare.userId == nil)
    }

    @Test func anotherNameLeavesTheRest() {
        let event = RealtimeEvent(name: "e", channel: "c", data: "d", userId: "u").withOrigin(.cache).renamed("f")
        #expect(event.eventName == "f")
        #expect(event.channelName == "c" && event.data == "d" && event.userId == "u" && event.origin == .cache)
    }

    @Test(arguments: [EventOrigin.live, .cache, .repeatedCache])
    func theOriginIsKept(origin: EventOrigin) {
        #expect(RealtimeEvent(name: "e", channel: nil, data: nil).withOrigin(origin).origin == origin)
        #expect(viewed().withOrigin(.repeatedCache).withOrigin(origin).origin == origin)
    }

    @Test(arguments: [(nil, nil), ("", nil), ("x", "x"), ("ü☃", "ü☃")] as [(String?, String?)])
    func dataIsCopiedForWhoWantsMemoryOfTheirOwn(data: String?, expected: String?) {
        let event = RealtimeEvent(name: "e", channel: "c", data: data)
        #expect(event.hasData == (data != nil))
        #expect(event.dataBytes == Array((data ?? "").utf8))
        let copy = event.copyData()
        defer { copy?.deallocate() }
        #expect(copy.map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test func aCopyOfEscapedDataIsUnescaped() {
        let copy = viewed().copyData()
        defer { copy?.deallocate() }
        #expect(copy.map(Array.init) == Array(#"a"b"#.utf8))
    }

    private func event(escaped data: String) -> RealtimeEvent {
        let bytes = Array(#"{"event":"e","data":"\#(data)"}"#.utf8)
        var layout = RealtimeEvent.Layout()
        layout.name = RealtimeEvent.Span(10, 11)
        layout.dataStart = 21
        layout.dataForm = .jsonString
        return RealtimeEvent(
            bytes: bytes, range: 0..<bytes.count, layout: layout, dataEnd: 21 + UInt32(data.utf8.count))
    }

    @Test func valuesOfTheDataAreReadWhereTheyAreAsked() {
        let event = event(escaped: #"{\"price\":1.5,\"name\":\"a\\\"b\",\"list\":[1,{\"x\":true}]}"#)
        #expect(event.json["price"]?.double == 1.5)
        #expect(event.json["name"]?.string == #"a"b"#)
        #expect(event.json["list"]?[1]?["x"]?.bool == true)
        #expect(event.json["other"] == nil)
        #expect(self.event(escaped: "[1, 2]").json[1]?.int == 2)
        #expect(RealtimeEvent(name: "e", channel: "c", data: #" {"a":"b"} "#).json["a"]?.string == "b")
    }

    @Test(arguments: [nil, "", "text", "{\"a\":1", "[1] 2", "}"] as [String?])
    func dataThatIsNotJSONHasNoValue(data: String?) {
        let json = RealtimeEvent(name: "e", channel: "c", data: data).json
        #expect(json.string == nil && json.int == nil && json["a"] == nil && json[0] == nil && json.array == nil)
        #expect(!json.isNull && !json.isObject && json.members.isEmpty && json.bool == nil)
    }

    @Test func aFingerprintIsThatOfNameAndData() {
        let event = RealtimeEvent(name: "e", channel: "c", data: "d")
        #expect(event.fingerprint == RealtimeEvent(name: "e", channel: "other", data: "d").fingerprint)
        #expect(event.fingerprint != RealtimeEvent(name: "f", channel: "c", data: "d").fingerprint)
        #expect(event.fingerprint != RealtimeEvent(name: "e", channel: "c", data: "x").fingerprint)
    }

    @Test func keysAreEqualByTheirBytes() {
        #expect(ByteKey("") == ByteKey("") && ByteKey("a") == ByteKey(Array("xay".utf8)[1..<2]))
        #expect(ByteKey("a") != ByteKey("b") && ByteKey("a") != ByteKey("ab") && ByteKey("") != ByteKey("a"))
    }
}
