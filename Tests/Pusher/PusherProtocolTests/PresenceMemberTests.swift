import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// The members of a presence channel in the machine.
struct PresenceMemberTests {
    private func joined(_ list: String, as name: String = "presence-x") throws -> (ClientScript, EventRouter.ChannelID)
    {
        var client = ClientScript.connected()
        let id = try join(name, list, &client)
        return (client, id)
    }

    private func join(_ name: String, _ list: String, _ client: inout ClientScript) throws -> EventRouter.ChannelID {
        let id = try client.subscribe(name, auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#))
        client.succeed(name, data: list)
        #expect(!client.take().contains { $0.hasPrefix("error") })
        return id
    }

    private func event(_ name: String, _ data: String, on channel: String = "presence-x") -> String {
        #"{"event":"pusher_internal:\#(name)","channel":"\#(channel)","data":\#(JSONString.quoted(data))}"#
    }

    private let two = #"{"presence":{"ids":["u1","u2"],"hash":{"u1":{"name":"Ann"},"u2":null},"count":2}}"#

    @Test(.regression("A reconnect doubled the members."))
    func membersAreReplacedNotDoubledAtAReconnect() throws {
        var (client, id) = try joined(two)
        client.reconnect()
        #expect(client.machine.members(of: id).count == 0)
        _ = client.take()
        client.answer("presence-x", .success(AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#)))
        client.succeed(
            "presence-x", data: #"{"presence":{"ids":["u1","u3"],"hash":{"u1":null,"u3":null},"count":2}}"#)
        #expect(client.machine.members(of: id).all.map(\.userID) == ["u1", "u3"])
    }

    @Test(.regression("The user id 5 became 5.0."))
    func numericIDsStayIntegers() throws {
        var (client, id) = try joined(
            #"{"presence":{"ids":[10,9007199254740992],"hash":{"10":{"name":"Ann"}},"count":2}}"#)
        #expect(client.machine.members(of: id).all.map(\.userID) == ["10", "9007199254740992"])
        #expect(client.machine.members(of: id)["10"]?.userInfo == #"{"name":"Ann"}"#)
        client.receive(event("member_added", #"{"user_id":12345678}"#))
        #expect(client.take().first == "added 12345678")
        client.receive(event("member_removed", #"{"user_id":10}"#))
        #expect(client.take().first == "removed 10")
    }

    @Test(.regression("Members without user_info were left out."))
    func membersWithoutUserInfoAreMembers() throws {
        var (client, id) = try joined(#"{"presence":{"ids":["u1","u2"],"hash":{"u1":null},"count":2}}"#)
        client.receive(
            event("member_added", #"{"user_id":"u3"}"#), event("member_added", #"{"user_id":"u4","user_info":null}"#))
        #expect(client.take().filter { $0.hasPrefix("added") } == ["added u3", "added u4"])
        let members = client.machine.members(of: id).all
        #expect(members.map(\.userID) == ["u1", "u2", "u3", "u4"])
        #expect(members.allSatisfy { $0.userInfo == nil })
    }

    @Test(.regression("An empty hash as PHP writes it, [], was refused."))
    func anEmptyHashMayBeAnArray() throws {
        var (client, id) = try joined(#"{"presence":{"hash":[],"count":0}}"#)
        #expect(client.machine.isSubscribed(id))
        #expect(client.machine.members(of: id).count == 0)
        client.receive(event("member_added", #"{"user_id":"u1"}"#))
        #expect(client.take().first == "added u1")

        let (other, otherID) = try joined(#"{"presence":{"ids":["u1"],"hash":[],"count":1}}"#)
        #expect(other.machine.members(of: otherID).all.map(\.userID) == ["u1"])
    }

    @Test(
        .regression("Malformed presence data crashed the program."),
        arguments: ["{}", "[]", "", "nonsense", "null", #"{"presence":7}"#, #"{"presence":{"ids":7,"hash":"x"}}"#])
    func malformedPresenceDataIsReportedAndDisturbsNothing(data: String) throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#))
        _ = client.take()
        client.succeed("presence-x", data: data)
        let lines = client.take()
        #expect(lines.first == "error channel presence-x: its member list cannot be read")
        #expect(lines.contains("subscribed presence-x"))
        client.receive(event("member_added", #"{"user_id":"u2"}"#))
        #expect(client.take().first == "added u2")
        #expect(client.machine.members(of: id).count == 1)
    }

    @Test(
        .regression("A new member without a user id crashed the program."),
        arguments: ["{}", #"{"user_info":{"name":"Ann"}}"#, #"{"user_id":null}"#, #"{"user_id":true}"#, "nonsense"])
    func aMemberAddedWithoutAUserIDIsReported(data: String) throws {
        var (client, id) = try joined(two)
        client.receive(event("member_added", data))
        #expect(client.take() == ["error channel presence-x: a member without a user_id arrived"])
        #expect(client.machine.members(of: id).count == 2)
        client.receive(event("member_added", #"{"user_id":"u3"}"#))
        #expect(client.take().first == "added u3")
    }

    @Test(.regression("Presence channels shared their members."))
    func membersAreNotSharedBetweenChannels() throws {
        var client = ClientScript.connected()
        let first = try join("presence-a", two, &client)
        let second = try join("presence-b", #"{"presence":{"ids":["u9"],"hash":{"u9":null},"count":1}}"#, &client)
        client.receive(event("member_added", #"{"user_id":"u3"}"#, on: "presence-a"))
        client.receive(event("member_removed", #"{"user_id":"u1"}"#, on: "presence-b"))
        #expect(client.machine.members(of: first).all.map(\.userID) == ["u1", "u2", "u3"])
        #expect(client.machine.members(of: second).all.map(\.userID) == ["u9"])
        client.unsubscribe("presence-a")
        #expect(client.machine.members(of: second).count == 1)
    }
}
