import Testing

@testable import MatrixProtocol

@Suite struct MXRoomMembersTests {
    @Test func aUniqueNameStandsAlone() throws {
        let members = MXRoomState(try .member("@a:x", name: "Ann"), try .member("@b:x", name: "Bob")).members
        #expect(members.memberName("@a:x") == "Ann")
    }

    @Test func equalNamesCarryTheUserIds() throws {
        var state = MXRoomState(try .member("@a:x", name: "Ann"), try .member("@b:x", "invite", name: "Ann"))
        #expect(state.members.memberName("@a:x") == "Ann (@a:x)")
        #expect(state.members.memberName("@b:x") == "Ann (@b:x)")
        state.apply(try .member("@b:x", "leave", name: "Ann"))
        #expect(state.members.memberName("@a:x") == "Ann")
        #expect(state.members.memberName("@b:x") == "Ann (@b:x)")
    }

    @Test func aRenamingChangesTheNamesOfOthers() throws {
        var state = MXRoomState(try .member("@a:x", name: "Ann"), try .member("@b:x", name: "Bob"))
        state.apply(try .member("@b:x", name: "Ann"))
        #expect(state.members.memberName("@a:x") == "Ann (@a:x)")
        state.apply(try .member("@b:x", name: "Bo"))
        #expect(state.members.memberName("@a:x") == "Ann")
    }

    @Test(arguments: ["", "   ", "\u{202E}\u{200B}", "\u{0007}"])
    func aNameThatShowsNothingGivesTheUserId(name: String) throws {
        #expect(MXRoomState(try .member("@a:x", name: name)).members.memberName("@a:x") == "@a:x")
    }

    @Test func namesAreComparedAsTheyShow() throws {
        let members = MXRoomState(try .member("@a:x", name: "Ann"), try .member("@b:x", name: " An\u{200B}n\u{202E}"))
            .members
        #expect(members.memberName("@b:x") == "Ann (@b:x)")
        #expect(members.memberName("@a:x") == "Ann (@a:x)")
    }

    @Test func aNameThatLooksLikeAUserIdIsMarked() throws {
        let members = MXRoomState(try .member("@a:x", name: "@admin:x")).members
        #expect(members.memberName("@a:x") == "@admin:x (@a:x)")
    }

    @Test func emojiOfSeveralPartsStayWhole() throws {
        let members = MXRoomState(try .member("@a:x", name: "👩‍🚒 Zoë")).members
        #expect(members.memberName("@a:x") == "👩‍🚒 Zoë")
    }

    @Test func anUnknownUserIsCalledById() {
        #expect(MXRoomState(roomId: "!r:x").members.memberName("@nobody:x") == "@nobody:x")
    }

    @Test func membersAreFoundAndCountedByMembership() throws {
        let state = MXRoomState(
            try .member("@a:x"), try .member("@b:x", "invite"), try .member("@c:x", "leave"),
            try .member("@d:x", "ban"), try .member("@e:x", "knock"), try .member("@f:x"))
        #expect(Set(state.members.joinedMembers.map(\.userId)) == ["@a:x", "@f:x"])
        #expect(state.members.members(with: .invite).map(\.userId) == ["@b:x"])
        #expect(state.membersCount(with: .join) == 2)
        #expect(state.membersCount(with: .ban) == 1)
        #expect(state.members.count == 6)
        #expect(state.stateEvents(with: .roomMember).count == 6)
        #expect(state.members.member(withUserId: "@e:x")?.membership == .knock)
    }

    @Test(
        arguments: [
            ("join", "invite", true, .joined), ("join", "join", true, .profileChanged),
            ("invite", "leave", false, .invited),
            ("leave", "join", true, .left), ("leave", "join", false, .kicked), ("leave", "ban", false, .unbanned),
            ("leave", "invite", true, .declined), ("leave", "invite", false, .invitationWithdrawn),
            ("leave", "knock", true, .knockTakenBack), ("leave", "knock", false, .knockRefused),
            ("ban", "join", false, .banned), ("knock", "leave", true, .knocked), ("odd", "join", true, .unknown),
        ] as [(String, String, Bool, MXRoomMember.Change)])
    func whatAMemberEventDidIsTold(now: String, before: String, isOwn: Bool, change: MXRoomMember.Change) throws {
        let event = try MXEvent.member("@b:x", now, sender: isOwn ? "@b:x" : "@admin:x", before: before)
        #expect(MXRoomMember(event)?.change == change)
    }

    @Test func aLargeRoomKeepsItsMembersAndItsCopiesApart() throws {
        var state = MXRoomState(roomId: "!r:x")
        for number in 0..<1000 { state.apply(try .member("@\(number):x", name: "N\(number / 2)")) }
        let before = state
        for number in 0..<1000 where number % 2 == 0 { state.apply(try .member("@\(number):x", "leave")) }
        state.rollBack(try .member("@1:x", name: "N0"))
        #expect(before.members.count == 1000 && before.membersCount(with: .join) == 1000)
        #expect(Set(before.members.members.map(\.userId)).count == 1000)
        #expect(before.members.memberName("@999:x") == "N499 (@999:x)")
        #expect(state.members.count == 999 && state.membersCount(with: .join) == 499)
        #expect(state.members.joinedMembers.count == 499 && state.stateEvents.count == 999)
        #expect(state.members.memberName("@999:x") == "N499")
        #expect(state.members.member(withUserId: "@1:x") == nil)
    }

    @Test func aMemberTellsTheRest() throws {
        let content: [String: Any] = [
            "membership": "invite", "displayname": "B", "avatar_url": "mxc://x/b", "is_direct": true, "reason": "why",
            "third_party_invite": ["signed": ["token": "t"]],
        ]
        let member = try #require(
            MXRoomMember(try .make("m.room.member", content, sender: "@a:x", key: "@b:x", unsigned: [:])))
        #expect(member.displayname == "B" && member.avatarUrl == "mxc://x/b" && member.membership == .invite)
        #expect(member.isDirect && member.reason == "why" && member.thirdPartyInviteToken == "t")
        #expect(member.originUserId == "@a:x" && member.prevMembership == .unknown)
        #expect(MXRoomMember(try .make("m.room.member", content, key: "")) == nil)
        #expect(MXRoomMember(try .make("m.room.name", content, key: "@b:x")) == nil)
    }
}
