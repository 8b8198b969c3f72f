import Foundation
import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MXEventTests {
    private static let text = #"""
        {"content":{"body":"hi","msgtype":"m.text"},"origin_server_ts":1700000000123,"event_id":"$e:x","sender":"@a:x",
         "type":"m.room.message","unsigned":{"age":5,"transaction_id":"t1"},"room_id":"!r:x"}
        """#

    @Test func everyFieldIsRead() throws {
        let event = try MXEvent.parse(Self.text, room: nil)
        #expect(event.type == "m.room.message" && event.wireType == "m.room.message" && event.eventType == .roomMessage)
        #expect(event.eventId == "$e:x" && event.sender == "@a:x" && event.roomId == "!r:x")
        #expect(event.originServerTs == 1_700_000_000_123)
        #expect(event.date.timeIntervalSince1970 == 1_700_000_000.123)
        #expect(event.content["body"] as? String == "hi")
        #expect(event.transactionId == "t1")
        #expect(event.stateKey == nil && !event.isState && !event.isRedacted && !event.isEncrypted)
        #expect(event.sentState == .sent && event.sentFailure == nil && !event.isLocalEvent && !event.isEdited)
        #expect(
            String(decoding: event.data, as: UTF8.self) == Self.text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    @Test func theRoomOfTheSyncComesBeforeTheEvents() throws {
        #expect(try MXEvent.parse(Self.text, room: "!s:x").roomId == "!s:x")
        #expect(try MXEvent.parse(Self.text).inRoom("!t:x").roomId == "!t:x")
    }

    @Test(arguments: ["7", "[]", "{}", #"{"type":7}"#, #"{"type":null}"#, #"{"type":"a""#, "", #"{"type":"\x"}"#])
    func whatHasNoTypeIsNoEvent(text: String) {
        #expect(MXEvent(data: Data(text.utf8)) == nil)
    }

    @Test func fieldsOfOtherTypesReadAsAbsent() throws {
        let event = try MXEvent.parse(
            #"{"type":"t","content":[],"event_id":{},"sender":7,"state_key":null,"origin_server_ts":"x","unsigned":[]}"#
        )
        #expect(event.eventId.isEmpty && event.sender.isEmpty && event.content.isEmpty && event.originServerTs == 0)
        #expect(event.transactionId == nil && event.redactedBecause == nil && event.prevContent == nil)
        let none = try MXEvent.parse(#"{"type":"t"}"#)
        #expect(
            none.content.isEmpty && none.contentJSON["a"] == nil && none.unsigned == nil && none.originServerTs == 0)
    }

    @Test func keysMayBeWrittenWithEscapes() throws {
        let event = try MXEvent.parse(#"{"\u0074ype":"t","\u0073ender":"@\u0061:x","content":{"\u0062":1}}"#)
        #expect(event.type == "t" && event.sender == "@a:x" && event.contentJSON["b"]?.int == 1)
    }

    @Test func anEventInTheMiddleOfOtherBytesReadsTheSame() throws {
        for shift in 0..<70 {
            let bytes = Array("[\(String(repeating: " ", count: shift))\(Self.text),1]".utf8)
            let json = try #require(JSONView(bytes)?.array?.first)
            let event = try #require(MXEvent(json: json))
            #expect(event.sender == "@a:x" && event.content["body"] as? String == "hi")
            let detached = event.detached
            #expect(detached == event)
            #expect(detached.json.bytes.count < bytes.count)
            #expect(detached.eventId == "$e:x" && detached.transactionId == "t1")
        }
    }

    @Test func anEventIsMadeFromItsContent() throws {
        let event = try #require(
            MXEvent(
                type: "m.room.topic", content: ["topic": "t/\"ü"], eventId: "$1", sender: "@a:x", stateKey: "",
                roomId: "!r:x", originServerTs: 18_446_744_073_709_551, unsigned: ["age": 1]))
        #expect(event.isState && event.stateKey == "" && event.content["topic"] as? String == "t/\"ü")
        #expect(event.originServerTs == 18_446_744_073_709_551)
        #expect(MXEvent(type: "t", content: ["a": Date()]) == nil)
    }

    @Test func anOwnEventHasStates() throws {
        let event = try MXEvent.make(id: MXEvent.localEventIdPrefix + "1").withSentState(.failed, failure: "why")
        #expect(event.isLocalEvent && event.sentState == .failed && event.sentFailure == "why")
        #expect(event.withSentState(.sending).sentFailure == nil)
        #expect(event.withSentState(.sending) != event)
        #expect(event.detached.sentState == .failed && event.inRoom("!s:x").sentState == .failed)
    }

    @Test func aDecryptedEventShowsWhatWasInside() throws {
        let event = try MXEvent.make("m.room.encrypted", ["ciphertext": "c"]).withSentState(.sending)
        #expect(event.isEncrypted)
        let inside = try JSONView(text: #"{"type":"m.room.message","content":{"body":"secret"}}"#)
        let decrypted = event.withDecrypted(inside)
        #expect(
            !decrypted.isEncrypted && decrypted.type == "m.room.message" && decrypted.wireType == "m.room.encrypted")
        #expect(decrypted.content["body"] as? String == "secret" && decrypted.wireContent["ciphertext"] != nil)
        #expect(decrypted.sentState == .sending)
        #expect(decrypted != event)
        #expect(decrypted.detached == decrypted)
    }

    @Test func descriptionsNeverShowTheContent() throws {
        let event = try MXEvent.make("m.room.message", ["body": "secret"])
        #expect(!"\(event) \(String(reflecting: event))".contains("secret"))
        var dumped = ""
        dump(event, to: &dumped)
        #expect(!dumped.contains("secret"))
    }

    @Test func timesThatAreNoTimesAreZero() throws {
        for (text, ts) in [("-5", 0), ("1e3", 1000), ("99999999999999999999999", 0), ("12", 12)] as [(String, UInt64)] {
            #expect(try MXEvent.parse(#"{"type":"t","origin_server_ts":\#(text)}"#).originServerTs == ts)
        }
    }

    @Test func typesAreNamedBothWays() {
        #expect(MXEventType(identifier: "m.reaction") == .reaction)
        #expect(MXEventType.reaction.identifier == "m.reaction")
        #expect(MXEventType(identifier: "org.x") == .custom("org.x"))
        #expect(MXEventType.custom("org.x").identifier == "org.x")
    }
}
