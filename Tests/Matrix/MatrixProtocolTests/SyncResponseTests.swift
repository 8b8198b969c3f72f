import Foundation
import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct SyncResponseTests {
    private static let whole = #"""
        {"next_batch":"s2","unknown":{"a":[1,{"b":"]"}]},
         "account_data":{"events":[{"type":"m.direct","content":{"@a:x":["!r:x"]}}]},
         "presence":{"events":[{"type":"m.presence","sender":"@a:x","content":{"presence":"online"}}]},
         "to_device":{"events":[{"type":"m.room_key","sender":"@a:x","content":{}}]},
         "device_lists":{"changed":["@a:x",7],"left":["@b:x"]},
         "device_one_time_keys_count":{"signed_curve25519":50,"odd":"x"},
         "device_unused_fallback_key_types":["signed_curve25519"],
         "rooms":{
          "join":{"!r:x":{
            "summary":{"m.heroes":["@a:x"],"m.joined_member_count":2,"m.invited_member_count":0},
            "state":{"events":[{"type":"m.room.name","state_key":"","sender":"@a:x","event_id":"$1","content":{"name":"N \"q\" \\"}}]},
            "timeline":{"limited":true,"prev_batch":"p1","events":[
              {"type":"m.room.message","sender":"@a:x","event_id":"$2","origin_server_ts":1700000000000,"content":{"body":"}]"},"unsigned":{"transaction_id":"t"}}]},
            "ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":[]}}]},
            "account_data":{"events":[{"type":"m.tag","content":{"tags":{}}}]},
            "unread_notifications":{"notification_count":3,"highlight_count":1},
            "unread_thread_notifications":{"$root":{"notification_count":2}},
            "org.unknown":{"x":[]}}},
          "invite":{"!i:x":{"invite_state":{"events":[{"type":"m.room.member","state_key":"@me:x","sender":"@a:x","content":{"membership":"invite"}}]}}},
          "knock":{"!k:x":{"knock_state":{"events":[{"type":"m.room.name","state_key":"","sender":"@a:x","content":{"name":"K"}}]}}},
          "leave":{"!l:x":{"timeline":{"events":[]}}},
          "odd":{"!o:x":[]}}}
        """#

    @Test func everySectionIsRead() throws {
        let sync = try SyncResponse(Array(Self.whole.utf8))
        #expect(sync.nextBatch == "s2")
        #expect(sync.accountData.map(\.type) == ["m.direct"])
        #expect(sync.presence.map(\.sender) == ["@a:x"])
        #expect(sync.toDevice.map(\.type) == ["m.room_key"])
        #expect(sync.changedDevices == ["@a:x"] && sync.leftDevices == ["@b:x"])
        #expect(sync.oneTimeKeyCounts == ["signed_curve25519": 50])
        #expect(sync.unusedFallbackKeyTypes == ["signed_curve25519"])
        let room = try #require(sync.joined.first)
        #expect(room.roomId == "!r:x")
        #expect(room.summary.heroes == ["@a:x"])
        #expect(room.summary.joinedMemberCount == 2 && room.summary.invitedMemberCount == 0)
        #expect(room.state.first?.contentJSON["name"]?.string == "N \"q\" \\")
        #expect(room.timeline.isLimited && room.timeline.prevBatch == "p1")
        let message = try #require(room.timeline.events.first)
        #expect(message.eventId == "$2" && message.roomId == "!r:x" && message.originServerTs == 1_700_000_000_000)
        #expect(message.transactionId == "t" && message.body == "}]")
        #expect(room.ephemeral.count == 1 && room.accountData.count == 1)
        #expect(room.unread == SyncResponse.UnreadCounts([3, 1]))
        #expect(sync.invited.map(\.roomId) == ["!i:x"] && sync.invited.first?.state.first?.stateKey == "@me:x")
        #expect(sync.knocked.first?.state.first?.contentJSON["name"]?.string == "K")
        #expect(sync.left.map(\.roomId) == ["!l:x"])
        #expect(sync.malformedParts == 0)
    }

    /// An ID that no Matrix server can have issued becomes neither a path nor a room.
    @Test(
        arguments: [
            "", "!", "../x", "r:x", "!a b:x", "!a\\u0000:x", "!a\\n:x", "!" + String(repeating: "x", count: 255),
        ])
    func anIdThatIsNoneMakesNoRoom(id: String) throws {
        let rooms = ["join", "invite", "knock", "leave"].map { #""\#($0)":{"\#(id)":{},"!r:x":{}}"# }
        let sync = try SyncResponse(
            Array(#"{"next_batch":"s","rooms":{\#(rooms.joined(separator: ","))}}"#.utf8))
        #expect(sync.joined.map(\.roomId) == ["!r:x"] && sync.left.map(\.roomId) == ["!r:x"])
        #expect(sync.invited.map(\.roomId) == ["!r:x"] && sync.knocked.map(\.roomId) == ["!r:x"])
        #expect(sync.refusedRooms == 4 && sync.malformedParts == 0)
    }

    @Test func missingSectionsAreEmpty() throws {
        let sync = try SyncResponse(Array(#"{"next_batch":"s"}"#.utf8))
        #expect(sync.joined.isEmpty && sync.invited.isEmpty && sync.left.isEmpty && sync.malformedParts == 0)
        let room = try SyncResponse(Array(#"{"next_batch":"s","rooms":{"join":{"!r:x":{}}}}"#.utf8)).joined.first
        #expect(room?.summary == SyncResponse.RoomSummary())
        #expect(room?.unread == nil && room?.timeline.isLimited == false && room?.hasStateAfter == false)
    }

    @Test func malformedPartsAreLeftOutAndCounted() throws {
        let text = #"""
            {"next_batch":"s","presence":7,"account_data":{"events":"none"},"rooms":{"invite":[],"join":{
             "!a:x":{"timeline":{"events":[7,{},{"type":5},"x",null,[],{"type":"m.ok","content":"text"}]},"state":null},
             "!b:x":[],"!c:x":{"summary":[],"unread_notifications":"x"}}}}
            """#
        let sync = try SyncResponse(Array(text.utf8))
        #expect(sync.joined.map(\.roomId) == ["!a:x", "!b:x", "!c:x"])
        #expect(sync.joined[0].timeline.events.map(\.type) == ["m.ok"])
        #expect(sync.joined[0].timeline.events.first?.content.isEmpty == true)
        // Six events; presence, account data, invitations, a state and a room.
        #expect(sync.malformedParts == 11)
    }

    @Test(arguments: [
        "", "[]", "null", "{}", #"{"next_batch":7}"#, #"{"next_batch":""}"#, #"{"next_batch":"s"} x"#, "<html>",
    ])
    func anAnswerWithoutATokenIsRefused(text: String) {
        #expect(throws: SyncResponse.Refused.self) { try SyncResponse(Array(text.utf8)) }
    }

    @Test func aTokenThatNoRequestCouldCarryIsRefused() throws {
        func text(_ count: Int) -> [UInt8] { Array(#"{"next_batch":"\#(String(repeating: "t", count: count))"}"#.utf8) }
        #expect(try SyncResponse(text(16_384)).nextBatch.utf8.count == 16_384)
        #expect(throws: SyncResponse.Refused.self) { try SyncResponse(text(16_385)) }
    }

    @Test func anAnswerCutAnywhereIsRefused() {
        let bytes = Array(Self.whole.utf8)
        for length in 0..<bytes.count {
            #expect(throws: SyncResponse.Refused.self) { try SyncResponse(Array(bytes[..<length])) }
        }
    }

    @Test func anAnswerWithOneOtherByteDoesNoHarm() {
        let bytes = Array(Self.whole.utf8)
        for index in bytes.indices {
            for byte in [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "}"), UInt8(ascii: "["), 0xFF] {
                var changed = bytes
                changed[index] = byte
                guard let sync = try? SyncResponse(changed) else { continue }
                for room in sync.joined {
                    for event in room.state + room.timeline.events + room.ephemeral {
                        _ = (event.content, event.sender, event.unsigned, event.stateKey, event.relatesTo)
                    }
                    _ = MXRoomState(roomId: room.roomId, events: room.state).name
                }
            }
        }
    }

    @Test func stateAfterTakesThePlaceOfState() throws {
        func name(_ first: String, _ second: String) throws -> String? {
            func section(_ key: String) -> String {
                #""\#(key)":{"events":[{"type":"m.room.name","state_key":"","content":{"name":"\#(key)"}}]}"#
            }
            let text = #"{"next_batch":"s","rooms":{"join":{"!r:x":{\#(section(first)),\#(section(second))}}}}"#
            let room = try #require(try SyncResponse(Array(text.utf8)).joined.first)
            #expect(room.hasStateAfter && room.state.count == 1)
            return room.state.first?.contentJSON["name"]?.string
        }
        #expect(try name("state", "state_after") == "state_after")
        #expect(try name("state_after", "state") == "state_after")
    }
}

extension SyncResponse.UnreadCounts {
    fileprivate init(_ counts: [Int?]) {
        self.init()
        (notificationCount, highlightCount) = (counts[0], counts[1])
    }
}
