import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct SubscribingTests {
    @Test(arguments: ["my-channel", "private-x", "private-encrypted-x", "cache-x", "a@b,c.d;e=f_G"])
    func subscriptionSucceeds(channel: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        #expect(try await client.subscribe(channel, socketID: socketID) == succeeded(channel))
        #expect(await server.state.subscribers(of: channel) == [socketID])
        #expect(await server.state.connections.first?.channels == [channel])
        await server.stop()
    }

    @Test(
        arguments: [
            #"{"event":"pusher:subscribe","data":{"channel":"c","auth":""}}"#,
            "  { \"event\" : \"pusher:subscribe\" ,\n\t\"data\" : { \"channel\" : \"c\" } }\n",
            #"{"data":{"channel":"c"},"event":"pusher:\u0073ubscribe"}"#,
        ])
    func spellingsOfASubscriptionAreUnderstood(frame: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.established(to: server)
        try await client.send(frame)
        #expect(await client.text() == succeeded("c"))
        await server.stop()
    }

    @Test(
        arguments: [
            (#""channel":"private-x""#, "Auth info required to subscribe to private-x"),
            (#""channel":"private-x","auth":"""#, "Auth info required to subscribe to private-x"),
            (#""channel":"private-x","auth":"other:00""#, "Invalid key in subscription auth data: 'other'"),
            (#""channel":"private-x","auth":"none""#, "Invalid key in subscription auth data: 'none'"),
            (
                #""channel":"private-x","auth":"app-key:00""#,
                "Invalid signature: Expected HMAC SHA256 hex digest of SOCKET:private-x, but got 00"
            ),
            (
                #""channel":"private-x","auth":"app-key:00","channel_data":"d""#,
                "Invalid signature: Expected HMAC SHA256 hex digest of SOCKET:private-x:d, but got 00"
            ),
            (#""channel":"#, "Malformed message: not a JSON object"),
            (#""channel":"""#, "Invalid channel name: “” cannot be a channel name: it is empty"),
            (
                #""channel":"a b""#,
                "Invalid channel name: “a b” cannot be a channel name: only letters, digits and _ - = @ , . ; are allowed"
            ),
            (
                ##""channel":"#server-to-user-1""##,
                "Invalid channel name: #server-to-user-1 is for internal use"
            ),
        ])
    func refusalLeavesTheConnectionOpen(data: String, message: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        try await client.send(#"{"event":"pusher:subscribe","data":{\#(data)}}"#)
        #expect(await client.text() == errorFrame(message.replacing("SOCKET", with: socketID)))
        #expect(try await client.subscribe("c", socketID: socketID) == succeeded("c"))
        await server.stop()
    }

    @Test func signatureOfAnotherConnectionIsRefused() async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.established(to: server)
        let answer = try await client.subscribe("private-x", socketID: "1.2")
        #expect(answer?.contains("Invalid signature") == true)
        #expect(await server.state.channels() == [])
        await server.stop()
    }

    @Test func secondSubscriptionIsRefused() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.subscribed(to: "c", on: server)
        #expect(
            try await client.subscribe("c", socketID: socketID) == errorFrame("Existing subscription to channel c"))
        await server.stop()
    }

    @Test func unsubscribingEndsEvents() async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.subscribed(to: "c", on: server)
        #expect(await server.publish(event: "e", channel: "c", data: "1") == 1)
        #expect(await client.text() == #"{"event":"e","channel":"c","data":"1"}"#)
        try await client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"c"}}"#)
        #expect(await server.waitFor { $0.channels().isEmpty })
        #expect(await server.publish(event: "e", channel: "c", data: "2") == 0)
        try await client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"c"}}"#)
        #expect(
            await client.text() == errorFrame("No current subscription to channel c, or subscription in progress"))
        await server.stop()
    }

    @Test func eventsReachEveryoneButTheExcluded() async throws {
        let server = try await PusherMockServer.start()
        let (first, firstID) = try await TestClient.subscribed(to: "c", on: server)
        let (second, _) = try await TestClient.subscribed(to: "c", on: server)
        let text = "quote \" backslash \\ new\nline \u{1} é ☃ 😀 \u{2028}"
        #expect(await server.publish(event: "App\\Events\\Thing", channel: "c", data: text, except: firstID) == 1)
        #expect(
            await second.text()
                == #"{"event":"App\\Events\\Thing","channel":"c","data":"quote \" backslash \\ new\nline \u0001 é ☃ 😀 "#
                + "\u{2028}\"}")
        await server.publish(event: "last", channel: "c", data: "")
        #expect(await first.text() == #"{"event":"last","channel":"c","data":""}"#)
        await server.stop()
    }

    @Test func applicationsAreSeparate() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(), .init(id: "2", key: "two")]))
        let (one, oneID) = try await TestClient.established(to: server)
        let (two, twoID) = try await TestClient.established(to: server, key: "two")
        _ = try await one.subscribe("c", socketID: oneID)
        _ = try await two.subscribe("c", socketID: twoID)
        #expect(await server.publish(event: "e", channel: "c", data: "", app: "two") == 1)
        #expect(await two.text()?.contains(#""event":"e""#) == true)
        #expect(await server.state.subscribers(of: "c") == [oneID])
        #expect(await server.state.subscribers(of: "c", app: "two") == [twoID])
        await server.stop()
    }
}
