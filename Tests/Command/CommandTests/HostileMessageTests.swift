import Basics
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

@testable import CommandKit
@testable import MatrixCommands

/// Events with arbitrary content, as lines: never a trap, always one harmless line.
struct HostileMessageTests {
    private static let types = [
        "m.room.message", "m.sticker", "m.room.encrypted", "m.reaction", "m.room.redaction", "m.room.member",
        "m.poll.start", "m.poll.response", "m.poll.end", "org.matrix.msc3381.poll.start",
        "org.matrix.msc3381.poll.response", "org.matrix.msc3381.poll.end",
    ]
    private static let keys = [
        "msgtype", "body", "formatted_body", "format", "url", "file", "filename", "info", "duration", "geo_uri", "uri",
        "org.matrix.msc3488.location", "org.matrix.msc1767.audio", "org.matrix.msc3245.voice", "waveform", "m.poll",
        "org.matrix.msc3381.poll.start", "org.matrix.msc3381.poll.response", "question", "answers", "id", "m.id",
        "max_selections", "kind", "m.text", "org.matrix.msc1767.text", "m.selections", "m.relates_to", "rel_type",
        "event_id", "m.in_reply_to", "m.new_content", "key", "membership", "displayname",
    ]
    private static let texts = [
        HostileText.short, "m.text", "m.audio", "m.image", "m.location", "m.emote", "org.matrix.custom.html", "geo:1,2",
        "m.replace", "m.thread", "m.reference", "$e", "mxc://hs/a", "m.disclosed", "",
        "<span data-mx-spoiler=\"\(HostileText.short)\">x\n</span><br>", "> <@a:x> y\n\n" + HostileText.short,
        String(repeating: "\n", count: 500), String(repeating: "<span data-mx-spoiler>", count: 500),
    ]

    private func value(_ random: inout XorShift, depth: Int) -> Any {
        switch Int.random(in: 0..<(depth > 4 ? 6 : 9), using: &random) {
        case 0: [Int.min, -1, 0, 1, 2, Int.max].randomElement(using: &random) ?? 0
        case 1: [1e300, -0.5, 1e-300].randomElement(using: &random) ?? 0
        case 2: NSNull()
        case 3: Bool.random(using: &random)
        case 4, 5: Self.texts.randomElement(using: &random) ?? ""
        case 6:
            (0..<([0, 1, 3, 30].randomElement(using: &random) ?? 0)).map { _ in value(&random, depth: depth + 1) }
        default: object(&random, depth: depth + 1)
        }
    }

    private func object(_ random: inout XorShift, depth: Int) -> [String: Any] {
        var object: [String: Any] = [:]
        for _ in 0..<Int.random(in: 0...(depth == 0 ? 14 : 6), using: &random) {
            object[Self.keys.randomElement(using: &random) ?? ""] = value(&random, depth: depth)
        }
        return object
    }

    private func expectFit(_ line: String, isJSON: Bool, _ seed: UInt64) {
        #expect(HostileText.flaws(in: line, isBounded: false) == [], "seed \(seed)")
        let hasLineEnd = line.contains { $0.isNewline }
        #expect(!hasLineEnd, "seed \(seed)")
        if isJSON {
            #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "seed \(seed)")
        }
    }

    /// Replaces some parts of valid content. It gets further than content made from nothing.
    private func damaged(_ value: Any, _ random: inout XorShift) -> Any {
        if Int.random(in: 0..<12, using: &random) == 0 { return self.value(&random, depth: 3) }
        if let object = value as? [String: Any] {
            return Dictionary(
                uniqueKeysWithValues: object.sorted { $0.key < $1.key }.map { ($0.key, damaged($0.value, &random)) })
        }
        if let array = value as? [Any] { return array.map { damaged($0, &random) } }
        return value
    }

    private static let valid: [(String, String)] = [
        ("org.matrix.msc3381.poll.start", MatrixMessageKindTests.lunch),
        ("m.poll.start", MatrixMessageKindTests.dinner),
        (
            "m.room.message",
            #"""
            {"msgtype":"m.audio","body":"v","filename":"f","url":"mxc://hs/v","info":{"duration":1},
            "org.matrix.msc3245.voice":{},"org.matrix.msc1767.audio":{"duration":67000,"waveform":[1,2,3]},
            "m.relates_to":{"rel_type":"m.thread","event_id":"$1","m.in_reply_to":{"event_id":"$2"}}}
            """#
        ),
        (
            "m.room.message",
            #"""
            {"msgtype":"m.text","body":"* b","m.new_content":{"msgtype":"m.text","body":"b",
            "format":"org.matrix.custom.html","formatted_body":"<span data-mx-spoiler=\"x\">b</span>"},
            "m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}
            """#
        ),
        (
            "m.poll.response",
            #"{"m.selections":["a","b"],"m.relates_to":{"rel_type":"m.reference","event_id":"$1"}}"#
        ),
        ("m.poll.end", #"{"m.text":[{"body":"x"}],"m.relates_to":{"rel_type":"m.reference","event_id":"$1"}}"#),
    ]

    private func content(_ random: inout XorShift) throws -> (type: String, [String: Any]) {
        guard Bool.random(using: &random), let (type, json) = Self.valid.randomElement(using: &random) else {
            return (Self.types.randomElement(using: &random) ?? "", object(&random, depth: 0))
        }
        let whole = try JSONSerialization.jsonObject(with: Data(json.utf8))
        return (type, damaged(whole, &random) as? [String: Any] ?? [:])
    }

    @Test func anyContentIsOneHarmlessLine() throws {
        let first = UInt64.random(in: 1...1 << 32)
        for seed in first..<first + 400 {
            var random = XorShift(seed: seed)
            let (type, content) = try content(&random)
            let votes = try (0..<3).map { _ in
                let (_, content) = try self.content(&random)
                return try #require(MXEvent(type: "m.poll.response", content: content, eventId: "$v", sender: "@v:x"))
            }
            var unsigned: [String: Any] = [:]
            if Bool.random(using: &random) {
                unsigned = ["m.relations": ["m.replace": ["content": object(&random, depth: 1)]]]
            }
            let event = try #require(
                MXEvent(
                    type: type, content: content, eventId: "$e", sender: HostileText.short, roomId: "!r:x",
                    originServerTs: 1, unsigned: unsigned))
            var record = MessageRecord(event)
            record.count(votes, currentUser: "@a:x") { _ in true }
            expectFit(record.text(style: TextStyle(isColored: false)).text, isJSON: false, seed)
            expectFit(PeerText.escapedJSON(record.json), isJSON: true, seed)
        }
    }
}
