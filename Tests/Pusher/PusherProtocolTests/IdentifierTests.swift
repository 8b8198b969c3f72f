import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// Identifiers compare byte for byte, as on the server. Each pair here is equal as `String`s.
struct IdentifierTests {
    private static let composed = "\u{E9}ve"
    private static let decomposed = "e\u{301}ve"

    private func joined(_ list: String) throws -> (ClientScript, EventRouter.ChannelID) {
        var client = ClientScript.connected()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#))
        client.succeed("presence-x", data: list)
        return (client, id)
    }

    private func event(_ name: String, _ data: String) -> String {
        #"{"event":"pusher_internal:\#(name)","channel":"presence-x","data":\#(JSONString.quoted(data))}"#
    }

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test(.regression("Two members whose ids Unicode considers equal were one."))
    func canonicallyEqualMembersOfAListAreTwo() throws {
        var (client, id) = try joined(
            #"{"presence":{"ids":["\#(Self.composed)","\#(Self.decomposed)"],"#
                + #""hash":{"\#(Self.decomposed)":{"n":2},"\#(Self.composed)":{"n":1}},"count":2}}"#)
        let members = client.machine.members(of: id)
        #expect(bytes(members.all.map(\.userID)) == bytes([Self.composed, Self.decomposed]))
        #expect(members[Self.composed]?.userInfo == #"{"n":1}"#)
        #expect(members[Self.decomposed]?.userInfo == #"{"n":2}"#)

        client.receive(event("member_removed", #"{"user_id":"\#(Self.decomposed)"}"#))
        let rest = client.machine.members(of: id)
        #expect(bytes(rest.all.map(\.userID)) == bytes([Self.composed]))
        #expect(rest[Self.decomposed] == nil && rest[Self.composed] != nil)
    }

    @Test(.regression("Two members whose ids Unicode considers equal were one."))
    func canonicallyEqualMembersComeAndGoAlone() throws {
        var (client, id) = try joined(#"{"presence":{"ids":["\#(Self.composed)"],"hash":{},"count":1}}"#)
        _ = client.take()
        client.receive(event("member_added", #"{"user_id":"\#(Self.decomposed)"}"#))
        #expect(client.take().contains { $0.hasPrefix("added") })
        #expect(client.machine.members(of: id).count == 2)
        client.receive(event("member_removed", #"{"user_id":"\#(Self.composed)"}"#))
        #expect(bytes(client.machine.members(of: id).all.map(\.userID)) == bytes([Self.decomposed]))
    }

    @Test(.regression("Users of the watchlist whose ids Unicode considers equal were one."))
    func canonicallyEqualUsersAreOnlineAlone() {
        var client = ClientScript.connected()
        func changes(_ name: String, _ ids: String) -> String {
            let data = #"{"events":[{"name":"\#(name)","user_ids":[\#(ids)]}]}"#
            return #"{"event":"pusher_internal:watchlist_events","data":\#(JSONString.quoted(data))}"#
        }
        client.receive(changes("online", #""\#(Self.composed)","\#(Self.decomposed)""#))
        #expect(client.machine.onlineUsers.count == 2)
        client.receive(changes("offline", #""\#(Self.composed)""#))
        #expect(client.machine.isOnline(Self.decomposed) && !client.machine.isOnline(Self.composed))
    }

    /// The Kelvin sign is canonically equal to a K.
    @Test func anEventOfACanonicallyEqualChannelIsNotOfThisOne() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("K")
        client.succeed("K")
        _ = client.take()
        client.receive(#"{"event":"e","channel":"\#u{212A}","data":"1"}"#, #"{"event":"e","channel":"K","data":"2"}"#)
        let lines = client.take()
        #expect(lines.filter { $0.hasPrefix("event") } == ["event e K 2"])
        #expect(lines.contains { $0.contains("not valid") })
        client.unsubscribe("\u{212A}")
        #expect(client.take() == [] && client.machine.channelNames == ["K"])
    }

    /// Compared by characters, the names lack the protocol's prefixes: the last prefix character and the accent form
    /// one.
    @Test func prefixesAreComparedByBytes() throws {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher_internal:\#u{301}x","data":"1"}"#)
        #expect(client.take() == [], "internal events are not for the application")
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.succeed("private-x")
        _ = client.take()
        try client.machine.trigger("client-\u{301}x", data: "1", on: id, now: client.now)
        #expect(client.take().count == 1)
    }

    /// Entries without a user ID are reported. Null and objects used to be dropped silently, and an empty text was a
    /// member.
    @Test(arguments: [
        #"{"ids":["u1",null,"u2"]}"#, #"{"ids":["u1",{"id":3},"u2"]}"#, #"{"ids":["u1",true,"u2"]}"#,
        #"{"ids":["u1","","u2"]}"#, #"{"hash":{"u1":null,"":{"n":1},"u2":null}}"#,
    ])
    func entriesWithoutAUserIDAreReported(presence: String) throws {
        var (client, id) = try joined(#"{"presence":\#(presence)}"#)
        #expect(client.machine.members(of: id).all.map(\.userID) == ["u1", "u2"])
        #expect(
            client.take().contains(
                "error channel presence-x: entries of its member list without a user id were left out: 1"))
    }

    @Test(arguments: [#"{"user_id":""}"#, #"{"user_id":null}"#, #"{"user_id":{}}"#])
    func aMemberWithoutAUserIDIsReported(data: String) throws {
        var (client, id) = try joined(#"{"presence":{"ids":["u1"]}}"#)
        _ = client.take()
        client.receive(event("member_added", data), event("member_removed", data))
        #expect(
            client.take() == [
                "error channel presence-x: a member without a user_id arrived",
                "error channel presence-x: a member without a user_id left",
            ])
        #expect(client.machine.members(of: id).count == 1)
    }

    @Test func entriesOfTheWatchlistWithoutAUserIDAreReported() {
        var client = ClientScript.connected()
        client.receive(
            #"{"event":"pusher_internal:watchlist_events","data":{"events":[{"name":"online","user_ids":["u1",null,""]}]}}"#
        )
        #expect(client.machine.onlineUsers == ["u1"])
        #expect(
            client.take() == [
                "error entries of the watchlist without a user id were left out: 2", "watchlist online u1",
            ])
    }

    /// Members beyond the list's byte limit are reported, not dropped silently.
    @Test func aListThatIsTooLongIsCutAndReported() throws {
        let long = String(repeating: "x", count: 1 << 20)
        let ids = (0..<20).map { #""\#($0)\#(long)""# }.joined(separator: ",")
        var (client, id) = try joined(#"{"presence":{"ids":[\#(ids)]}}"#)
        #expect(client.machine.members(of: id).count == 15)
        #expect(client.take().contains { $0.contains("members were left out: there are more than 16777216 bytes") })
    }

    @Test func aHundredThousandMembersAreRead() throws {
        var data = Array(#"{"presence":{"ids":["#.utf8)
        for number in 0..<100_000 { data += "\(number == 0 ? "" : ",")\"user-\(number)\"".utf8 }
        data += #"],"hash":{"#.utf8
        for number in 0..<100_000 {
            data += "\(number == 0 ? "" : ",")\"user-\(number)\":{\"name\":\"n\(number)\"}".utf8
        }
        data += "}}}".utf8
        let list = try #require(PresenceList(data))
        #expect(list.members.count == 100_000 && !list.isCut && list.withoutID == 0)
        #expect(list.members["user-99999"]?.userInfo == #"{"name":"n99999"}"#)
        #expect(list.members.all.last?.userID == "user-99999")
    }
}
