import Foundation
import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MXRoomStateTests {
    private func state(_ type: String, _ content: [String: Any], key: String = "") throws -> MXRoomState {
        MXRoomState(try .make(type, content, key: key))
    }

    @Test func eachPropertyIsReadFromItsEvent() throws {
        #expect(try state("m.room.name", ["name": "N"]).name == "N")
        #expect(try state("m.room.name", ["name": ""]).name == nil)
        #expect(try state("m.room.topic", ["topic": "T"]).topic == "T")
        #expect(try state("m.room.avatar", ["url": "mxc://x/y"]).avatar == "mxc://x/y")
        let alias = try state("m.room.canonical_alias", ["alias": "#a:x", "alt_aliases": ["#b:x", "#a:x"]])
        #expect(alias.canonicalAlias == "#a:x")
        #expect(alias.aliases == ["#a:x", "#b:x"])
        #expect(try state("m.room.aliases", ["aliases": ["#c:x"]], key: "x").aliases == ["#c:x"])
        #expect(try state("m.room.pinned_events", ["pinned": ["$1", 2, "$3"]]).pinnedEvents == ["$1", "$3"])
    }

    @Test(
        arguments: [
            ("public", .public), ("invite", .invite), ("knock", .knock), ("restricted", .restricted),
            ("knock_restricted", .knockRestricted), ("private", .private), ("else", .invite),
        ] as [(String, MXRoomJoinRule)])
    func joinRulesAreTheSpecifications(word: String, rule: MXRoomJoinRule) throws {
        #expect(try state("m.room.join_rules", ["join_rule": word]).joinRule == rule)
    }

    @Test func allowedRoomsOfARestrictedRoomAreListed() throws {
        let allow = [
            ["type": "m.room_membership", "room_id": "!space:x"], ["type": "other", "room_id": "!no:x"],
        ]
        let state = try state("m.room.join_rules", ["join_rule": "restricted", "allow": allow])
        #expect(state.joinRuleAllowedRooms == ["!space:x"])
    }

    @Test func visibilityAndGuestAccessHaveDefaults() throws {
        let empty = MXRoomState(roomId: "!r:x")
        #expect(empty.historyVisibility == .shared)
        #expect(empty.guestAccess == .forbidden)
        #expect(empty.joinRule == .invite)
        #expect(empty.roomVersion == "1")
        let world = try state("m.room.history_visibility", ["history_visibility": "world_readable"])
        #expect(world.historyVisibility == .worldReadable)
        #expect(try state("m.room.guest_access", ["guest_access": "can_join"]).guestAccess == .canJoin)
    }

    @Test func creatorIsTheSenderAndOnlyInOldRoomsTheContents() throws {
        let content: [String: Any] = ["room_version": "10", "creator": "@old:x", "type": "m.space"]
        var new = content
        new["room_version"] = "12"
        new["additional_creators"] = ["@b:x"]
        new["predecessor"] = ["room_id": "!before:x"]
        let oldState = try state("m.room.create", content)
        #expect(oldState.creatorUserId == "@old:x")
        #expect(oldState.additionalCreators.isEmpty)
        #expect(oldState.isSpace)
        let newState = try state("m.room.create", new)
        #expect(newState.creatorUserId == "@a:x")
        #expect(newState.additionalCreators == ["@b:x"])
        #expect(newState.predecessorRoomId == "!before:x")
        #expect(newState.roomVersion == "12")
    }

    @Test func encryptionIsNeverTurnedOff() throws {
        var state = try state("m.room.encryption", ["algorithm": "m.megolm.v1.aes-sha2"])
        #expect(state.isEncrypted)
        state.apply(try .make("m.room.encryption", [:], id: "$off", key: ""))
        #expect(state.isEncrypted)
        #expect(state.encryptionAlgorithm == "m.megolm.v1.aes-sha2")
    }

    @Test func aTombstoneMakesTheRoomObsolete() throws {
        let state = try state("m.room.tombstone", ["body": "moved", "replacement_room": "!new:x"])
        #expect(state.isObsolete)
        #expect(state.replacementRoomId == "!new:x")
        #expect(state.tombStoneContent == MXRoomTombStoneContent(body: "moved", replacementRoomId: "!new:x"))
        #expect(!MXRoomState(roomId: "!r:x").isObsolete)
    }

    @Test func thirdPartyInvitesAreListed() throws {
        let state = try state("m.room.third_party_invite", ["display_name": "b…@…"], key: "token")
        #expect(
            state.thirdPartyInvites == [MXRoomThirdPartyInvite(token: "token", displayname: "b…@…", sender: "@a:x")])
    }

    @Test func applyingReturnsWhatItReplaces() throws {
        var state = MXRoomState(roomId: "!r:x")
        let first = try MXEvent.make("m.room.name", ["name": "1"], id: "$1", key: "")
        let second = try MXEvent.make("m.room.name", ["name": "2"], id: "$2", key: "")
        let replacedByFirst = state.apply(first)
        let replacedBySecond = state.apply(second)
        #expect(replacedByFirst == nil)
        #expect(replacedBySecond == first)
        #expect(state.name == "2")
        #expect(state.count == 1)
        state.apply(try .make("m.room.message", ["body": "no state"]))
        #expect(state.count == 1)
    }

    @Test func aCopyStaysAsItWas() throws {
        var state = try state("m.room.name", ["name": "1"])
        let before = state
        state.apply(try .make("m.room.name", ["name": "2"], key: ""))
        state.apply(try .member("@b:x"))
        #expect(before.name == "1")
        #expect(before.members.count == 0)
        #expect(state.name == "2")
    }

    @Test func rollingBackRestoresWhatWasReplaced() throws {
        var state = MXRoomState(roomId: "!r:x")
        let unsigned: [String: Any] = [
            "prev_content": ["name": "one"], "prev_sender": "@first:x", "replaces_state": "$first",
        ]
        let event = try MXEvent.make("m.room.name", ["name": "two"], id: "$2", key: "", unsigned: unsigned)
        state.apply(event)
        state.rollBack(event)
        #expect(state.name == "one")
        #expect(state.event(type: "m.room.name")?.sender == "@first:x")
        #expect(state.event(type: "m.room.name")?.eventId == "$first")
        #expect(state.event(type: "m.room.name")?.roomId == "!r:x")
    }

    @Test func rollingBackTheFirstOfItsKindRemovesIt() throws {
        var state = MXRoomState(roomId: "!r:x")
        let name = try MXEvent.make("m.room.name", ["name": "one"], key: "")
        let encryption = try MXEvent.make("m.room.encryption", ["algorithm": "a"], key: "")
        let join = try MXEvent.member("@b:x", name: "B")
        for event in [name, encryption, join] { state.apply(event) }
        for event in [join, encryption, name] { state.rollBack(event) }
        #expect(state.name == nil)
        #expect(!state.isEncrypted)
        #expect(state.count == 0)
        #expect(state.membersCount(with: .join) == 0)
    }

    @Test func rollingBackAMemberRestoresNameAndCounts() throws {
        var state = MXRoomState(try .member("@b:x", "leave"))
        let unsigned: [String: Any] = ["prev_content": ["membership": "join", "displayname": "Bob \"B\"\n"]]
        state.rollBack(
            try .make("m.room.member", ["membership": "leave"], sender: "@b:x", key: "@b:x", unsigned: unsigned))
        #expect(state.members.memberName("@b:x") == "Bob \"B\"")
        #expect(state.membersCount(with: .join) == 1)
        #expect(state.membersCount(with: .leave) == 0)
    }

    @Test func aRedactedEventReplacesOnlyItself() throws {
        var state = try state("m.room.topic", ["topic": "secret"])
        let redaction = try MXEvent.make("m.room.redaction", ["redacts": "$e"], id: "$redaction")
        let pruned = try MXEvent.make("m.room.topic", ["topic": "secret"], key: "").pruned(
            by: redaction, roomVersion: "11")
        let other = try MXEvent.make("m.room.topic", [:], id: "$other", key: "")
        let isOtherPart = state.replace(other)
        #expect(!isOtherPart)
        #expect(state.topic == "secret")
        let isPart = state.replace(pruned)
        #expect(isPart)
        #expect(state.topic == nil)
    }

    @Test func eventsKeptFromALargeAnswerDoNotKeepTheAnswer() throws {
        let filler = String(repeating: " ", count: 10_000)
        let bytes = Array("[\(filler){\"type\":\"m.room.name\",\"state_key\":\"\",\"content\":{\"name\":\"n\"}}]".utf8)
        let json = try #require(JSONView(bytes)?.array?.first)
        let event = try #require(MXEvent(json: json))
        #expect(event.compact.json.bytes.count < 100)
        #expect(event.compact == event)
    }

    @Test func wrongTypesReadAsAbsent() throws {
        for type in [
            "m.room.name", "m.room.topic", "m.room.avatar", "m.room.canonical_alias", "m.room.create",
            "m.room.power_levels", "m.room.pinned_events", "m.room.tombstone", "m.room.join_rules",
        ] {
            let fields = [
                "name", "topic", "url", "alias", "alt_aliases", "users", "pinned", "join_rule", "predecessor",
            ]
            let content = Dictionary(uniqueKeysWithValues: fields.map { ($0, [1, [:]] as [Any]) })
            let state = try state(type, content)
            #expect(state.name == nil && state.topic == nil && state.avatar == nil && state.aliases == [])
            #expect(state.pinnedEvents.isEmpty && state.joinRule == .invite && state.predecessorRoomId == nil)
            #expect(state.powerLevels.users.isEmpty || type == "m.room.create")
        }
    }
}

/// IDs that are equal as Swift strings.
struct LookalikeIdTests {
    private let ids = ["@\u{e9}:s", "@e\u{301}:s"]

    private func event(_ type: String, key: String, _ content: String) throws -> MXEvent {
        let json =
            #"{"type":"\#(type)","event_id":"$\#(type)\#(key.utf8.count)","sender":"@a:s","state_key":"\#(key)","content":\#(content)}"#
        return try #require(MXEvent(data: Data(json.utf8), roomId: "!r:s"))
    }

    @Test func twoMembersAndTwoStateKeysLiveSideBySide() throws {
        let events = try ids.flatMap { id in
            try [
                event("m.room.member", key: id, #"{"membership":"join"}"#),
                event("org.example", key: id, #"{"size":\#(id.utf8.count)}"#),
            ]
        }
        var state = MXRoomState(roomId: "!r:s", events: events)
        #expect(state.count == 4 && state.members.joinedMembers.count == 2)
        for id in ids {
            #expect(state.event(type: "org.example", key: id)?.content["size"] as? Int == id.utf8.count)
        }
        // One leaves; the other stays.
        state.apply(try event("m.room.member", key: ids[0], #"{"membership":"leave"}"#))
        #expect(state.members.joinedMembers.map { Array($0.userId.utf8) } == [Array(ids[1].utf8)])
        #expect(state.members.oldest(5, of: [.join], but: ids[0]).count == 1)
    }

    @Test func oneUsersPowerIsNotTheOthers() throws {
        let content = JSONView(Array(#"{"users":{"\#(ids[0])":100}}"#.utf8))
        let levels = MXRoomPowerLevels(content, creators: [], roomVersion: RoomVersion("10"))
        #expect(ids.map { levels.powerLevelOfUser(withUserID: $0) } == [100, 0])
        let both = JSONView(Array(#"{"users":{"\#(ids[0])":100,"\#(ids[1])":1}}"#.utf8))
        let two = MXRoomPowerLevels(both, creators: [], roomVersion: RoomVersion("10"))
        #expect(ids.map { two.powerLevelOfUser(withUserID: $0) } == [100, 1])
        let creator = MXRoomPowerLevels(nil, creators: [ids[0]], roomVersion: RoomVersion("12"))
        #expect(
            ids.map { creator.powerLevelOfUser(withUserID: $0) == MXRoomPowerLevels.creatorLevel } == [true, false])
    }
}
