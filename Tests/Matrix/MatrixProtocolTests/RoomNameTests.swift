import TestSupport
import Testing

@testable import MatrixProtocol

@Suite struct RoomNameTests {
    private func name(_ state: MXRoomState, heroes: [String]? = nil, joined: Int? = nil, invited: Int? = nil) -> String
    {
        RoomName.displayName(
            of: state, heroes: heroes, joinedCount: joined, invitedCount: invited, currentUser: "@me:x")
    }

    private func room(_ others: String...) throws -> MXRoomState {
        var state = MXRoomState(try .member("@me:x", name: "Me"))
        for (index, name) in others.enumerated() {
            state.apply(try .member("@\(name):x", name: name, ts: UInt64(10 + index)))
        }
        return state
    }

    @Test func theNameComesFirstThenTheAlias() throws {
        var state = try room("A")
        state.apply(try .make("m.room.canonical_alias", ["alias": "#alias:x"], key: ""))
        #expect(name(state) == "#alias:x")
        state.apply(try .make("m.room.name", ["name": "Name"], key: ""))
        #expect(name(state) == "Name")
        state.apply(try .make("m.room.name", ["name": ""], key: ""))
        #expect(name(state) == "#alias:x")
    }

    @Test(
        arguments: [
            (["@A:x"], 2, 0, "A"), (["@A:x"], 1, 1, "A"), (["@A:x", "@B:x"], 3, 0, "A and B"),
            (["@A:x", "@B:x", "@C:x"], 4, 0, "A and 2 others"), (["@A:x", "@B:x"], 10, 5, "A and 13 others"),
            (["@A:x"], 3, 0, "A and 1 other"), (["@me:x", "@A:x"], 2, 0, "A"), (["@A:x"], 1, 0, "Empty room (was A)"),
            (["@A:x", "@B:x"], 1, 0, "Empty room (was A and B)"), ([], 1, 0, "Empty room"),
            ([], 0, 0, "Empty room"), (["@unknown:x"], 2, 0, "@unknown:x"),
        ] as [([String], Int, Int, String)])
    func heroesNameARoom(heroes: [String], joined: Int, invited: Int, expected: String) throws {
        var state = try room("A", "B", "C")
        if joined <= 1, heroes.isEmpty { state = MXRoomState(roomId: "!r:x") }
        #expect(name(state, heroes: heroes, joined: joined, invited: invited) == expected)
    }

    @Test func withoutASummaryThoseWhoCameFirstName() throws {
        #expect(name(try room("A")) == "A")
        #expect(name(try room("B", "A")) == "B and A")
        #expect(name(try room("C", "A", "B")) == "C and 2 others")
        var left = MXRoomState(try .member("@me:x"))
        left.apply(try .member("@A:x", "leave", name: "A"))
        #expect(name(left) == "Empty room (was A)")
        var two = try room("B")
        two.apply(try .member("@A:x", "leave", name: "A"))
        #expect(name(two) == "B")
        two.apply(try .member("@B:x", "leave", name: "B"))
        #expect(name(two) == "Empty room (was A and B)")
    }

    @Test(arguments: 1...20) func thoseWhoCameFirstAreTheSameInWhateverOrderTheyAreKnown(seed: Int) {
        var random = XorShift(seed: UInt64(seed))
        let members = (0..<300).map { (age: UInt64.random(in: 0..<100, using: &random), id: "@\($0):x") }
        var known = MXRoomMembers()
        for member in members.shuffled(using: &random) {
            let kind = ["join", "invite", "leave", "ban"].randomElement(using: &random) ?? "join"
            _ = known.set(try? .member(member.id, kind, ts: member.age), for: member.id)
        }
        for kinds in [[MXMembership.join, .invite], [.leave, .ban], [.knock]] {
            let expected = known.members.filter { kinds.contains($0.membership) && $0.userId != "@7:x" }
                .map { ($0.originalEvent.originServerTs, $0.userId) }.sorted { $0 < $1 }.prefix(2).map(\.1)
            #expect(known.oldest(2, of: kinds, but: "@7:x") == expected)
        }
    }

    @Test func inARoomOfTwoThoseWhoLeftDoNotName() throws {
        var state = MXRoomState(try .member("@me:x"), try .member("@A:x", "leave", name: "A"))
        #expect(name(state, joined: 2) == "2 people")
        state.apply(try .member("@B:x", name: "B", ts: 20))
        #expect(name(state, joined: 2) == "B")
    }

    @Test func anInvitationIsCalledAfterTheInviter() throws {
        let state = MXRoomState(try .member("@me:x", "invite", sender: "@A:x"), try .member("@A:x", name: "A"))
        #expect(name(state) == "A")
    }

    @Test func membersWhoAreNotKnownAreCounted() {
        #expect(name(MXRoomState(roomId: "!r:x"), heroes: [], joined: 5) == "5 people")
    }

    @Test func theAvatarIsTheRoomsOrInARoomOfTwoTheOthers() throws {
        var state = MXRoomState(try .member("@me:x"), try .member("@A:x", avatar: "mxc://x/a"))
        func avatar(_ joined: Int? = nil) -> String? {
            RoomName.avatar(of: state, heroes: nil, joinedCount: joined, invitedCount: nil, currentUser: "@me:x")
        }
        #expect(avatar() == "mxc://x/a")
        #expect(avatar(3) == nil)
        state.apply(try .make("m.room.avatar", ["url": "mxc://x/room"], key: ""))
        #expect(avatar(3) == "mxc://x/room")
        #expect(avatar() == "mxc://x/room")
    }
}
