import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MXRoomPowerLevelsTests {
    private func levels(_ json: String?, version: String = "11", creators: [String] = ["@c:x"]) throws
        -> MXRoomPowerLevels
    {
        MXRoomPowerLevels(
            try json.map { try JSONView(text: $0) }, creators: creators, roomVersion: RoomVersion(version))
    }

    @Test func withoutTheEventTheCreatorHasAllAndOthersNothing() throws {
        let levels = try levels(nil)
        #expect(levels.powerLevelOfUser(withUserID: "@c:x") == 100)
        #expect(levels.powerLevelOfUser(withUserID: "@u:x") == 0)
        #expect(levels.canSendMessage("@u:x"))
        #expect(!levels.canSendState("@u:x", type: "m.room.name"))
        #expect(levels.canKick("@c:x", target: "@u:x"))
    }

    @Test func anEmptyEventHasTheDefaults() throws {
        let levels = try levels("{}")
        #expect(levels.powerLevelOfUser(withUserID: "@c:x") == 0)
        #expect(levels.invite == 0 && levels.kick == 50 && levels.ban == 50 && levels.redact == 50)
        #expect(levels.eventsDefault == 0 && levels.stateDefault == 50 && levels.usersDefault == 0)
        #expect(levels.minimumPowerLevelForNotifying() == 50)
    }

    @Test func numbersMayBeStringsAndNonsenseIsTheDefault() throws {
        let levels = try levels(
            #"{"users":{"@a:x":"100","@b:x":" 50 ","@c:x":25.0,"@d:x":[],"@e:x":"many"},"kick":"60","ban":null,"invite":{}}"#
        )
        #expect(levels.users == ["@a:x": 100, "@b:x": 50, "@c:x": 25])
        #expect(levels.kick == 60 && levels.ban == 50 && levels.invite == 0)
        #expect(levels.powerLevelOfUser(withUserID: "@d:x") == 0)
    }

    @Test func noNumberReachesTheLevelOfACreator() throws {
        let levels = try levels(#"{"users":{"@a:x":9223372036854775807}}"#, version: "12")
        #expect(levels.powerLevelOfUser(withUserID: "@a:x") < levels.powerLevelOfUser(withUserID: "@c:x"))
        #expect(!levels.canKick("@a:x", target: "@c:x"))
        #expect(levels.canKick("@c:x", target: "@a:x"))
    }

    @Test func inVersion12CreatorsAreAboveAllAndBeforeTheyAreNot() throws {
        let create: [String: Any] = ["room_version": "12", "additional_creators": ["@second:x"]]
        let state = MXRoomState(
            try .make("m.room.create", create, sender: "@first:x", key: ""),
            try .make("m.room.power_levels", ["users": [:], "events": ["m.room.tombstone": 150]], key: ""))
        for creator in ["@first:x", "@second:x"] {
            #expect(state.powerLevels.powerLevelOfUser(withUserID: creator) == MXRoomPowerLevels.creatorLevel)
            #expect(state.powerLevels.canSendState(creator, type: "m.room.tombstone"))
        }
        #expect(!state.powerLevels.canKick("@first:x", target: "@second:x"))
        #expect(try levels("{}", version: "11").powerLevelOfUser(withUserID: "@c:x") == 0)
    }

    @Test func rightsNeedTheirLevel() throws {
        let levels = try levels(
            #"{"users":{"@mod:x":50,"@mod2:x":50,"@admin:x":100},"invite":25,"events":{"m.room.topic":20,"m.reaction":5},"events_default":1,"users_default":1,"notifications":{"room":60}}"#
        )
        #expect(levels.canSendMessage("@u:x"))
        #expect(!levels.canSendMessage("@u:x", type: "m.reaction"))
        #expect(levels.canSendState("@mod:x", type: "m.room.name"))
        #expect(!levels.canSendState("@u:x", type: "m.room.topic"))
        #expect(!levels.canInvite("@u:x"))
        #expect(levels.canInvite("@mod:x"))
        #expect(!levels.canNotifyRoom("@mod:x"))
        #expect(levels.canNotifyRoom("@admin:x"))
    }

    @Test func kickBanAndUnbanReachOnlyThoseBelow() throws {
        let levels = try levels(#"{"users":{"@mod:x":50,"@mod2:x":50,"@admin:x":100},"kick":50,"ban":70}"#)
        #expect(levels.canKick("@mod:x", target: "@u:x"))
        #expect(!levels.canKick("@mod:x", target: "@mod2:x"))
        #expect(!levels.canKick("@mod:x", target: "@admin:x"))
        #expect(!levels.canBan("@mod:x", target: "@u:x"))
        #expect(levels.canBan("@admin:x", target: "@mod:x"))
        #expect(!levels.canUnban("@mod:x", target: "@u:x"))
        #expect(levels.canUnban("@admin:x", target: "@u:x"))
        #expect(try !self.levels(#"{"users":{"@m:x":50},"kick":60,"ban":0}"#).canUnban("@m:x", target: "@u:x"))
    }

    @Test func ownEventsMayBeRedactedWithoutTheLevelForOthers() throws {
        let levels = try levels(#"{"users":{"@mod:x":50}}"#)
        #expect(levels.canRedact("@u:x", eventOf: "@u:x"))
        #expect(!levels.canRedact("@u:x", eventOf: "@v:x"))
        #expect(levels.canRedact("@mod:x", eventOf: "@v:x"))
        let strict = try self.levels(#"{"events":{"m.room.redaction":10}}"#)
        #expect(!strict.canRedact("@u:x", eventOf: "@u:x"))
    }

    @Test func levelsAreChangedOnlyBelowTheOwn() throws {
        let levels = try levels(#"{"users":{"@mod:x":50,"@mod2:x":50,"@u:x":10}}"#)
        #expect(levels.canChangeLevel("@mod:x", of: "@u:x", to: 50))
        #expect(!levels.canChangeLevel("@mod:x", of: "@u:x", to: 51))
        #expect(!levels.canChangeLevel("@mod:x", of: "@mod2:x", to: 0))
        #expect(levels.canChangeLevel("@mod:x", of: "@mod:x", to: 0))
        #expect(!levels.canChangeLevel("@u:x", of: "@v:x", to: 1))
    }
}
