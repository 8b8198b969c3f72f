import Foundation
import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct RedactionTests {
    private func kept(_ type: String, _ content: [String: Any], version: String, key: String? = "") throws -> [String:
        Any]
    {
        let redaction = try MXEvent.make(
            "m.room.redaction", ["redacts": "$e", "reason": "why"], id: "$r", sender: "@mod:x")
        return try MXEvent.make(type, content, key: key).pruned(by: redaction, roomVersion: version).content
    }

    @Test(
        arguments: [
            ("m.room.message", "11", ""), ("m.room.name", "11", ""), ("m.room.topic", "1", ""),
            ("m.room.member", "1", "membership"), ("m.room.member", "8", "membership"),
            ("m.room.member", "9", "join_authorised_via_users_server membership"),
            ("m.room.create", "10", "creator"), ("m.room.create", "11", "*"), ("m.room.create", "12", "*"),
            ("m.room.join_rules", "7", "join_rule"), ("m.room.join_rules", "8", "allow join_rule"),
            ("m.room.history_visibility", "1", "history_visibility"), ("m.room.aliases", "5", "aliases"),
            ("m.room.aliases", "6", ""), ("m.room.redaction", "10", ""), ("m.room.redaction", "11", "redacts"),
            ("m.room.power_levels", "10", "ban events events_default kick redact state_default users users_default"),
            (
                "m.room.power_levels", "11",
                "ban events events_default invite kick redact state_default users users_default"
            ),
            ("m.room.member", "org.example.unstable", "join_authorised_via_users_server membership"),
        ])
    func onlyProtectedKeysStay(type: String, version: String, keys: String) throws {
        let names = [
            "membership", "join_authorised_via_users_server", "creator", "join_rule", "allow", "history_visibility",
            "aliases", "redacts", "ban", "events", "events_default", "kick", "redact", "state_default", "users",
            "users_default", "invite", "body", "displayname", "notifications", "room_version",
        ]
        let content = Dictionary(uniqueKeysWithValues: names.map { ($0, "v" as Any) })
        let kept = try kept(type, content, version: version).keys.sorted()
        #expect(keys == "*" ? kept == names.sorted() : kept.joined(separator: " ") == keys)
    }

    @Test func ofAThirdPartyInviteOnlyTheSignedPartStays() throws {
        let content: [String: Any] = ["third_party_invite": ["signed": ["token": "t"], "display_name": "name"]]
        let new = try kept("m.room.member", content, version: "11")
        #expect((new["third_party_invite"] as? [String: Any])?.keys.sorted() == ["signed"])
        #expect(try kept("m.room.member", content, version: "10").isEmpty)
    }

    @Test func theResultIsAWholeEventWithItsRedaction() throws {
        let unsigned: [String: Any] = [
            "transaction_id": "t", "prev_content": ["a": 1], "m.relations": ["m.replace": ["content": "secret"]],
            "age": 5,
        ]
        let event = try MXEvent.make("m.room.message", ["body": "secret"], ts: 77, unsigned: unsigned)
        let redaction = try MXEvent.make("m.room.redaction", ["redacts": "$e", "reason": "why"], id: "$r")
        let pruned = event.pruned(by: redaction, roomVersion: "11")
        #expect(pruned.isRedacted && !event.isRedacted)
        #expect(pruned.eventId == "$e" && pruned.sender == "@a:x" && pruned.originServerTs == 77)
        #expect(pruned.roomId == "!r:x" && pruned.transactionId == "t" && pruned.content.isEmpty)
        #expect(pruned.redactedBecause?["event_id"]?.string == "$r")
        #expect(pruned.redactedBecause?["content"]?["reason"]?.string == "why")
        #expect(!String(decoding: pruned.data, as: UTF8.self).contains("secret"))
        let stored = try #require(MXEvent(data: pruned.data, roomId: "!r:x"))
        #expect(stored == pruned)
        #expect(try JSONSerialization.jsonObject(with: pruned.data) is [String: Any])
        #expect(pruned.pruned(by: try .make("m.room.redaction", id: "$again"), roomVersion: "11") == pruned)
    }

    @Test func theTargetIsReadFromContentAndFromBesideIt() throws {
        #expect(try MXEvent.parse(#"{"type":"m.room.redaction","redacts":"$1","content":{}}"#).redacts == "$1")
        #expect(try MXEvent.parse(#"{"type":"m.room.redaction","content":{"redacts":"$2"}}"#).redacts == "$2")
        #expect(try MXEvent.parse(#"{"type":"m.room.message","redacts":"$1","content":{}}"#).redacts == nil)
    }
}
