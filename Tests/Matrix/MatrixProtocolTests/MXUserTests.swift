import Testing

@testable import MatrixProtocol

@Suite struct MXUserTests {
    private let start = ContinuousClock.now

    private func presence(_ content: [String: Any]) throws -> MXEvent { try .make("m.presence", content, room: nil) }

    @Test func presenceIsTakenOver() throws {
        var user = MXUser(userId: "@a:x")
        let event = try presence([
            "presence": "unavailable", "status_msg": "lunch", "displayname": "A", "avatar_url": "mxc://x/a",
            "last_active_ago": 5000,
        ])
        let hasChanged = user.update(presence: event, now: start)
        #expect(hasChanged)
        #expect(user.presence == .unavailable && user.statusMsg == "lunch" && user.displayname == "A")
        #expect(user.avatarUrl == "mxc://x/a" && !user.currentlyActive)
        let changesAgain = user.update(presence: event, now: start)
        #expect(!changesAgain)
    }

    @Test func theTimeSinceItsActivityGoesOn() throws {
        var user = MXUser(userId: "@a:x")
        #expect(user.lastActiveAgo(at: start) == nil)
        user.update(presence: try presence(["presence": "online", "last_active_ago": 5000]), now: start)
        #expect(user.lastActiveAgo(at: start + .seconds(10)) == .seconds(15))
        #expect(user.lastActiveAgo(at: start - .seconds(10)) == .zero)
        user.update(presence: try presence(["presence": "online", "currently_active": true]), now: start)
        #expect(user.lastActiveAgo(at: start + .seconds(10)) == .zero)
    }

    @Test func strangeValuesDoNoHarm() throws {
        var user = MXUser(userId: "@a:x")
        for ago in [Int.max, Int.min, -1] {
            user.update(presence: try presence(["presence": "dancing", "last_active_ago": ago]), now: start)
            #expect(user.presence == .unknown)
        }
        let hasChanged = user.update(presence: try .make("m.typing"), now: start)
        #expect(!hasChanged)
    }

    @Test func nameAndAvatarComeFromMembersWhoAreThere() throws {
        var user = MXUser(userId: "@a:x")
        user.update(member: try #require(MXRoomMember(try .member("@a:x", name: "A"))))
        #expect(user.displayname == "A")
        user.update(member: try #require(MXRoomMember(try .member("@a:x", "leave"))))
        user.update(member: try #require(MXRoomMember(try .member("@b:x", name: "B"))))
        #expect(user.displayname == "A")
    }
}
