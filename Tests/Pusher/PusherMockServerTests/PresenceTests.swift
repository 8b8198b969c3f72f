import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct PresenceTests {
    private let channel = "presence-x"

    private func data(_ members: String) -> String {
        #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-x","data":"{\"presence\":\#(members)}"}"#
    }

    @Test func joiningUserIsAmongTheMembers() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        let answer = try await client.subscribe(
            channel, socketID: socketID, channelData: #"{"user_id":"u1","user_info":{"b":1.50,"a":"Zoë"}}"#)
        #expect(
            answer
                == data(#"{\"ids\":[\"u1\"],\"hash\":{\"u1\":{\"b\":1.50,\"a\":\"Zoë\"}},\"count\":1}"#))
        await server.stop()
    }

    @Test func othersAreToldOfTheFirstAndLastConnectionOfAUser() async throws {
        let server = try await PusherMockServer.start()
        let (ann, _) = try await TestClient.subscribed(to: channel, on: server, channelData: #"{"user_id":"ann"}"#)
        let bob = #"{"user_id":10,"user_info":null}"#
        let (phone, phoneID) = try await TestClient.established(to: server)
        #expect(
            try await phone.subscribe(channel, socketID: phoneID, channelData: bob)
                == data(#"{\"ids\":[\"ann\",\"10\"],\"hash\":{\"ann\":null,\"10\":null},\"count\":2}"#))
        let (laptop, laptopID) = try await TestClient.established(to: server)
        #expect(
            try await laptop.subscribe(channel, socketID: laptopID, channelData: bob)
                == data(#"{\"ids\":[\"ann\",\"10\"],\"hash\":{\"ann\":null,\"10\":null},\"count\":2}"#))
        #expect(
            await ann.text()
                == #"{"event":"pusher_internal:member_added","channel":"presence-x","data":"{\"user_id\":\"10\",\"user_info\":null}"}"#
        )
        try await phone.drop()
        #expect(await server.waitFor { $0.connectionCount == 2 })
        #expect(await server.state.users(of: channel) == ["ann", "10"])
        try await laptop.send(#"{"event":"pusher:unsubscribe","data":{"channel":"presence-x"}}"#)
        #expect(
            await ann.text()
                == #"{"event":"pusher_internal:member_removed","channel":"presence-x","data":"{\"user_id\":\"10\"}"}"#)
        await server.stop()
    }

    @Test(
        arguments: [
            (nil, "Channel data is required to subscribe to presence-x"),
            ("u1", "Channel data of presence-x must be a JSON object with a user_id"),
            ("{}", "Channel data of presence-x must be a JSON object with a user_id"),
            (#"{"user_id":""}"#, "Channel data of presence-x must be a JSON object with a user_id"),
            (#"{"user_id":1.5}"#, "Channel data of presence-x must be a JSON object with a user_id"),
            (#"{"user_id":["u"]}"#, "Channel data of presence-x must be a JSON object with a user_id"),
            (
                #"{"user_id":"\#(String(repeating: "u", count: 129))"}"#,
                "The user_id is longer than 128 characters"
            ),
            (
                #"{"user_id":"u","user_info":"\#(String(repeating: "i", count: 1024))"}"#,
                "The channel data exceeds the allowed maximum (1024 bytes)"
            ),
        ] as [(String?, String)])
    func wrongChannelDataIsRefused(channelData: String?, message: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        #expect(
            try await client.subscribe(channel, socketID: socketID, channelData: channelData) == errorFrame(message))
        await server.stop()
    }

    @Test func hundredMembersAreTheLimit() async throws {
        let server = try await PusherMockServer.start()
        var clients: [TestClient] = []
        for user in 0..<100 {
            clients.append(
                try await TestClient.subscribed(to: channel, on: server, channelData: #"{"user_id":\#(user)}"#).client)
        }
        let (client, socketID) = try await TestClient.established(to: server)
        #expect(
            try await client.subscribe(channel, socketID: socketID, channelData: #"{"user_id":100}"#)
                == errorFrame("Presence channel presence-x has the allowed maximum of 100 members"))
        let known = try await client.subscribe(channel, socketID: socketID, channelData: #"{"user_id":"7"}"#)
        #expect(known?.contains("subscription_succeeded") == true, "another connection of a member is no new member")
        #expect(await server.state.users(of: channel).count == 100)
        await server.stop()
    }
}
