import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

struct PresenceTests {
    private static let members = #"{"presence":{"ids":["u1","u2"],"hash":{"u1":{"name":"Ann"},"u2":null},"count":2}}"#

    /// Returns a client on `presence-x` as `u1`, where `u2` is present.
    private func makeJoined() throws -> (ClientScript, EventRouter.ChannelID) {
        var client = ClientScript.connected()
        let id = try client.subscribe(
            "presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1","user_info":{"name":"Ann"}}"#))
        client.succeed("presence-x", data: Self.members)
        _ = client.take()
        return (client, id)
    }

    private func event(_ name: String, _ data: String) -> String {
        #"{"event":"pusher_internal:\#(name)","channel":"presence-x","data":\#(JSONString.quoted(data))}"#
    }

    @Test func theListComesWithTheSuccess() throws {
        let (client, id) = try makeJoined()
        let members = client.machine.members(of: id)
        #expect(members.all.map(\.userID) == ["u1", "u2"])
        #expect(members["u1"]?.userInfo == #"{"name":"Ann"}"#)
        #expect(members["u2"]?.userInfo == nil)
        #expect(client.machine.myID(on: id) == "u1")
    }

    @Test(
        arguments: [
            (#"{"presence":{"hash":[],"ids":[],"count":0}}"#, []),
            (#"{"presence":{"hash":{"b":null,"a":{}}}}"#, ["a", "b"]),
            (#"{"presence":{"ids":[7,"x"],"hash":{"7":{"n":1}}}}"#, ["7", "x"]),
            (#"{"presence":{"ids":["a"]}}"#, ["a"]),
            (#"{"presence":{"ids":["a",null,"","a","\u0061"],"hash":{"":1,"b":1}}}"#, ["a", "b"]),
        ] as [(String, [String])])
    func everyShapeOfListIsRead(data: String, expected: [String]) {
        #expect(PresenceList(Array(data.utf8))?.members.all.map(\.userID) == expected)
        #expect(PresenceList.memberCount(Array(data.utf8)) == expected.count)
    }

    @Test(arguments: ["{}", "", "nonsense", "[]", #"{"presence":[]}"#, #"{"presence":{"ids":7,"hash":"x"}}"#])
    func aListThatCannotBeReadIsReportedButIsASuccess(data: String) throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#))
        _ = client.take()
        client.succeed("presence-x", data: data)
        let lines = client.take()
        #expect(lines.first == "error channel presence-x: its member list cannot be read")
        #expect(PresenceList.memberCount(Array(data.utf8)) == nil)
        #expect(lines.dropFirst().first == "subscribed presence-x")
        #expect(client.machine.members(of: id).count == 0)
    }

    @Test func arrivalsAndDepartures() throws {
        var (client, id) = try makeJoined()
        client.receive(event("member_added", #"{"user_id":"u3","user_info":{"name":"Cy"}}"#))
        #expect(
            client.take() == [
                "added u3", #"event pusher:member_added presence-x {"user_id":"u3","user_info":{"name":"Cy"}}"#,
            ])
        client.receive(event("member_removed", #"{"user_id":"u2"}"#))
        #expect(client.take() == ["removed u2", #"event pusher:member_removed presence-x {"user_id":"u2"}"#])
        #expect(client.machine.members(of: id).all.map(\.userID) == ["u1", "u3"])
    }

    @Test func whatIsLastKnownOfAMemberGoesWithIt() throws {
        var (client, _) = try makeJoined()
        client.receive(event("member_removed", #"{"user_id":"u1"}"#))
        guard case .memberRemoved(_, let member)? = client.machine.takeNotices().first else {
            Issue.record("nobody left")
            return
        }
        #expect(member.userInfo == #"{"name":"Ann"}"#)
    }

    @Test func aKnownMemberIsUpdatedAndAnUnknownOneIgnored() throws {
        var (client, id) = try makeJoined()
        client.receive(event("member_added", #"{"user_id":"u2","user_info":{"name":"Bob"}}"#))
        client.receive(event("member_removed", #"{"user_id":"nobody"}"#))
        #expect(client.take() == [])
        #expect(client.machine.members(of: id)["u2"]?.userInfo == #"{"name":"Bob"}"#)
        #expect(client.machine.members(of: id).count == 2)
    }

    @Test func numericIDsCompareAsStrings() throws {
        var (client, id) = try makeJoined()
        client.receive(event("member_added", #"{"user_id":10}"#))
        client.receive(event("member_removed", #"{"user_id":"10"}"#))
        #expect(client.take().filter { !$0.hasPrefix("event") } == ["added 10", "removed 10"])
        #expect(client.machine.members(of: id).count == 2)
    }

    @Test(arguments: ["{}", "[]", "nonsense", #"{"user_id":null}"#, #"{"user_id":true}"#, #"{"user_id":{}}"#])
    func malformedMembersAreReportedAndDisturbNothing(data: String) throws {
        var (client, id) = try makeJoined()
        client.receive(event("member_added", data), event("member_removed", data))
        #expect(client.take().count { $0.hasPrefix("error") } == 2)
        #expect(client.machine.members(of: id).count == 2)
    }

    /// 16 MiB of IDs and infos, with 128 bytes for each member.
    @Test func membersAreBoundedInBytes_andThoseWhoLeaveMakeRoom() {
        func member(_ id: String, bytes: Int) -> PresenceMembers.Member {
            PresenceMembers.Member(userID: id, userInfo: String(repeating: "x", count: bytes - 128 - id.utf8.count))
        }
        var members = PresenceMembers()
        #expect(members.add(member("a", bytes: 8 << 20)) == .new)
        #expect(members.add(member("b", bytes: 8 << 20 + 1)) == .tooMany)
        #expect(members.add(member("b", bytes: 8 << 20)) == .new)
        #expect(members.add(member("c", bytes: 129)) == .tooMany)
        #expect(members.remove(userID: "a") != nil)
        #expect(members.add(member("c", bytes: 8 << 20)) == .new)
        // Data of a known member is not counted twice.
        #expect(members.add(member("c", bytes: 8 << 20)) == .known)
        #expect(members.all.map(\.userID) == ["b", "c"])
    }

    /// They are in the list that comes with the success.
    @Test func whoComesOrGoesBeforeTheSuccessIsNotTold() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#))
        _ = client.take()
        client.receive(event("member_added", #"{"user_id":"u3"}"#), event("member_removed", #"{"user_id":"u2"}"#))
        #expect(client.take() == [])
        client.succeed("presence-x", data: Self.members)
        #expect(client.machine.members(of: id).all.map(\.userID) == ["u1", "u2"])
    }

    @Test func theListIsReplacedAfterAReconnect() throws {
        var (client, id) = try makeJoined()
        client.close(4200)
        #expect(client.machine.members(of: id).count == 0)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        _ = client.take()
        client.answer("presence-x", .success(AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#)))
        client.succeed("presence-x", data: Self.members)
        #expect(client.machine.members(of: id).all.map(\.userID) == ["u1", "u2"])
    }
}

struct ClientEventTests {
    @Test func eventsBeforeTheSuccessAreSentInOrderAfterIt() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        try client.machine.trigger("client-a", data: "1", on: id, now: client.now)
        try client.machine.trigger("client-a", data: "2", on: id, now: client.now)
        try client.machine.trigger("client-b", data: "3", on: id, now: client.now)
        #expect(client.take() == [])
        #expect(client.machine.unsentEvents(of: id).map(\.data) == ["1", "2", "3"])
        client.succeed("private-x")
        #expect(
            client.take().filter { $0.hasPrefix("send") } == [
                "send client-a private-x 1", "send client-a private-x 2", "send client-b private-x 3",
            ])
        try client.machine.trigger("client-c", data: "4", on: id, now: client.now)
        #expect(client.take() == ["send client-c private-x 4"])
    }

    @Test func whatWaitsSurvivesAReconnect() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        try client.machine.trigger("client-a", data: "1", on: id, now: client.now)
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        _ = client.take()
        client.answer("private-x")
        client.succeed("private-x")
        #expect(client.take().contains("send client-a private-x 1"))
        // And is sent once.
        client.succeed("private-x")
        #expect(!client.take().contains("send client-a private-x 1"))
        #expect(client.machine.unsentEvents(of: id).isEmpty)
    }

    @Test(arguments: [
        ("private-x", "typing"), ("private-x", "client-"), ("c", "client-a"), ("private-encrypted-x", "client-a"),
    ])
    func whatTheProtocolForbidsIsRefused(channel: String, event: String) throws {
        var client = ClientScript.connected()
        let id = try client.subscribe(channel, auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        #expect {
            try client.machine.trigger(event, data: "1", on: id, now: client.now)
        } throws: { error in
            (error as? PusherError)?.kind == .clientEventRejected
        }
        #expect(client.take() == [])
    }

    @Test func theQueueIsBoundedAndSaysSo() throws {
        var client = ClientScript.connected { $0.maximumUnsentEvents = 2 }
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        try client.machine.trigger("client-a", data: "1", on: id, now: client.now)
        try client.machine.trigger("client-a", data: "2", on: id, now: client.now)
        #expect {
            try client.machine.trigger("client-a", data: "3", on: id, now: client.now)
        } throws: { error in
            (error as? PusherError)?.message.contains("2 events wait already") == true
        }
        client.succeed("private-x")
        #expect(client.take().count { $0.hasPrefix("send client-a") } == 2)
    }

    @Test func anUnsubscribedChannelSendsNothing() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.unsubscribe("private-x")
        #expect(throws: PusherError.self) { try client.machine.trigger("client-a", data: "1", on: id, now: client.now) }
    }
}
