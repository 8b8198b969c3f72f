import Foundation
import PusherProtocol
import Realtime
import Testing

struct FrameParserTests {
    private func parse(_ text: String) throws -> RealtimeEvent {
        let bytes = Array(text.utf8)
        return try FrameParser.parse(bytes, bytes.indices)
    }

    struct Expected: Sendable {
        let frame: String
        let event: String
        var channel: String?
        var data: String?
        var user: String?

        init(_ frame: String, _ event: String, channel: String? = nil, data: String? = nil, user: String? = nil) {
            (self.frame, self.event, self.channel, self.data, self.user) = (frame, event, channel, data, user)
        }
    }

    static let frames = [
        Expected(
            #"{"event":"foo","channel":"c","data":"{\"some\":\"data\"}"}"#, "foo", channel: "c",
            data: #"{"some":"data"}"#),
        Expected(" { \"data\" : \"x\" ,\t\"event\" : \"foo\" } \n", "foo", data: "x"),
        Expected(#"{"event":"foo","channel":"c","data":""}"#, "foo", channel: "c", data: ""),
        Expected(#"{"event":"foo"}"#, "foo"),
        Expected(#"{"event":"foo","data":null,"channel":null}"#, "foo"),
        Expected(
            #"{"event":"App\\Events\\Thing","channel":"c","data":"\u2028\ud83d\ude00"}"#, #"App\Events\Thing"#,
            channel: "c", data: "\u{2028}😀"),
        Expected(
            #"{"event":"client-x","channel":"presence-c","data":{"b": [1, 2.50, 12345678901234567890.5],"a":"x y"},"user_id":"u1"}"#,
            "client-x", channel: "presence-c", data: #"{"b":[1,2.50,12345678901234567890.5],"a":"x y"}"#, user: "u1"),
        Expected(#"{"event":"e","data":[1, 2]}"#, "e", data: "[1,2]"),
        Expected(#"{"event":"e","data":5}"#, "e", data: "5"),
        Expected(#"{"event":"e","data":9007199254740993}"#, "e", data: "9007199254740993"),
        Expected(#"{"event":"e","data":true}"#, "e", data: "true"),
        Expected(#"{"event":"e","data":"5"}"#, "e", data: "5"),
        Expected(#"{"event":"e","data":"\"text\""}"#, "e", data: "\"text\""),
        Expected(#"{"event":"e","user_id":10}"#, "e", user: "10"),
        Expected(#"{"event":"e","user_id":9007199254740992}"#, "e", user: "9007199254740992"),
        Expected(#"{"event":"e","extra":{"event":"inner","data":"no"},"data":"yes"}"#, "e", data: "yes"),
        Expected(
            #"{"event":"e","data":{"data":"inner, \"quoted\" } ]"}}"#, "e", data: #"{"data":"inner, \"quoted\" } ]"}"#),
        Expected(#"{"ev\u0065nt":"e","dat\u0061":{"a":1}}"#, "e", data: #"{"a":1}"#),
    ]

    @Test(arguments: frames)
    func readsTheParts(expected: Expected) throws {
        let event = try parse(expected.frame)
        #expect(event.eventName == expected.event)
        #expect(event.channelName == expected.channel)
        #expect(event.data == expected.data)
        #expect(event.userId == expected.user)
    }

    @Test(arguments: frames)
    func theGeneralWayGivesTheSame(expected: Expected) throws {
        let event = try FrameParser.parseGenerally(Array(expected.frame.utf8)[...])
        #expect(event.eventName == expected.event)
        #expect(event.channelName == expected.channel)
        #expect(event.data == expected.data)
        #expect(event.userId == expected.user)
    }

    @Test(arguments: [
        ("", "it is not JSON"), ("hello", "it is not JSON"), (#"{"event":"x""#, "it is not JSON"),
        (#"{"event":"x"} x"#, "it is not JSON"), (#"{"event":"\x"}"#, "it is not JSON"),
        (#"{"event":"\ud800"}"#, "it is not JSON"), ("{\"event\":\"a\nb\"}", "it is not JSON"),
        ("[1,2]", "it is not a JSON object"), ("5", "it is not a JSON object"), ("null", "it is not a JSON object"),
        ("{}", "it has no event"), (#"{"data":"x"}"#, "it has no event"),
        (#"{"event":5}"#, "its event is not a string"), (#"{"event":null}"#, "its event is not a string"),
        (#"{"event":"x","channel":7}"#, "its channel is not a string"),
    ])
    func whatIsNotAMessageIsRefusedWithAReason(frame: String, reason: String) {
        #expect(throws: MalformedFrame(reason: reason)) { try parse(frame) }
    }

    @Test func deepNestingIsRefusedWithoutACrash() {
        let deep = #"{"event":"x","data":"# + String(repeating: "[", count: 100_000)
        #expect(throws: MalformedFrame(reason: "it is not JSON")) { try parse(deep) }
        let closed = deep + String(repeating: "]", count: 100_000) + "}"
        #expect(throws: MalformedFrame(reason: "it is not JSON")) { try parse(closed) }
    }

    /// Repeated keys are legal JSON; both ways must agree.
    @Test(arguments: [
        #"{"event":"a","event":"b","data":"1","data":"2"}"#, #"{"event":"a","data":{"x":1},"data":{"x":2}}"#,
        #"{"channel":"a","channel":"b","event":"e"}"#, #"{"event":"e","data":"1","data":"2"}"#,
        #"{"event":"a","event":"b"}"#,
    ])
    func repeatedKeysAreReadAsFoundationReadsThem(frame: String) throws {
        let object = try #require(JSONSerialization.jsonObject(with: Data(frame.utf8)) as? [String: Any])
        let event = try parse(frame)
        #expect(event.eventName == object["event"] as? String)
        #expect(event.channelName == object["channel"] as? String)
        if let data = object["data"] as? [String: Int] {
            #expect(event.data == #"{"x":\#(data["x"] ?? 0)}"#)
        } else {
            #expect(event.data == object["data"] as? String)
        }
    }

    /// Names as long as the protocol's are still different.
    @Test func keysOfTheSameLengthAreOthers() throws {
        let event = try parse(#"{"state":"s","kind":"k","version":"v","user_no":"n","event":"e","data":"d"}"#)
        #expect(event.eventName == "e" && event.data == "d" && event.channelName == nil && event.userId == nil)
        let behind = try parse(#"{"event":"e","data":"d","state":"s","kind":"k","version":"v","user_no":"n"}"#)
        #expect(behind.eventName == "e" && behind.data == "d" && behind.channelName == nil && behind.userId == nil)
    }

    /// Foundation would guess another encoding.
    @Test func aFrameWithZerosIsNoJSON() {
        let wide = Array(#"{"event":"x"}"#.utf8).flatMap { [$0, 0] as [UInt8] }
        #expect(throws: MalformedFrame(reason: "it is not JSON")) { try FrameParser.parse(wide, wide.indices) }
        #expect(throws: MalformedFrame(reason: "it is not JSON")) { try FrameParser.parseGenerally(wide[...]) }
    }

    /// Escapes at every position of a 64-byte block, and across its edges.
    @Test(arguments: [
        #"\\"#, #"\""#, #"\n"#, #"\/"#, #"\u0041"#, #"\ud83d\ude00"#, #"\\\\\""#, #"\x"#, #"\u00"#, #"\ud83d"#,
        #"\ude00"#, #"\ud83d\n"#, #"\"#, "\t", "é", #"\\u"#,
    ])
    func anEscapeIsReadAlikeWhereverItStands(escape: String) {
        for count in 0..<140 {
            let text = String(repeating: "a", count: count)
            for frame in [
                #"{"event":"e","data":"\#(text)\#(escape)"}"#, #"{"event":"e\#(text)","data":"\#(escape)z"}"#,
                #"{"event":"\#(escape)","data":"\#(text)","x":"\#(escape)\#(escape)"}"#,
            ] {
                let bytes = Array(("{" + frame + #"\"}"#).utf8)
                let range = 1..<1 + frame.utf8.count
                let fast = try? FrameParser.parse(bytes, range)
                let general = try? FrameParser.parseGenerally(bytes[range])
                #expect(fast?.eventName == general?.eventName && fast?.data == general?.data, "\(frame)")
            }
        }
    }

    /// Every string position, at every alignment within an eight-byte word.
    @Test(arguments: 0..<24)
    func anyLengthOfDataIsFound(length: Int) throws {
        let text = String(repeating: "a", count: length)
        #expect(try parse(#"{"event":"e","data":"\#(text)"}"#).data == text)
        #expect(try parse(#"{"event":"e","data":"\#(text)\""}"#).data == text + "\"")
        #expect(throws: MalformedFrame.self) { try parse("{\"event\":\"e\",\"data\":\"\(text)\u{1F}\"}") }
        #expect(try parse("{\"event\":\"e\",\"data\":\"\(text)é\u{7F}\"}").data == text + "é\u{7F}")
    }
}
