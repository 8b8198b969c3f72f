import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct ClientEventTests {
    @Test(
        arguments: [
            #"{"b":1.0,"a":[12345678901234567890, null]}"#, "[1,2]", #""te\u0078t""#, "5", "true", "null", #""""#,
        ])
    func dataIsDeliveredAsItWasSent(data: String) async throws {
        let server = try await PusherMockServer.start()
        let (sender, _) = try await TestClient.subscribed(to: "private-x", on: server)
        let (receiver, _) = try await TestClient.subscribed(to: "private-x", on: server)
        try await sender.send(#"{"event":"client-e","channel":"private-x","data":\#(data)}"#)
        #expect(await receiver.text() == #"{"event":"client-e","channel":"private-x","data":\#(data)}"#)
        try await sender.send(#"{"event":"pusher:ping"}"#)
        #expect(await sender.text()?.contains("pusher:pong") == true, "the sender does not get its own event")
        await server.stop()
    }

    @Test func presenceChannelTellsTheSender() async throws {
        let server = try await PusherMockServer.start()
        let (receiver, _) = try await TestClient.subscribed(
            to: "presence-x", on: server, channelData: #"{"user_id":"r"}"#)
        let (sender, _) = try await TestClient.subscribed(to: "presence-x", on: server, channelData: #"{"user_id":7}"#)
        #expect(await receiver.text()?.contains("member_added") == true)
        try await sender.send(#"{"event":"client-e","channel":"presence-x"}"#)
        #expect(await receiver.text() == #"{"event":"client-e","channel":"presence-x","user_id":"7"}"#)
        await server.stop()
    }

    @Test(
        arguments: [
            (
                "private-other", "1",
                "Cannot broadcast client event (connection not subscribed to channel private-other)"
            ),
            ("public", "1", "Client event rejected - only supported on private and presence channels"),
            (
                "private-encrypted-x", "1",
                "Client event rejected - only supported on private and presence channels"
            ),
            (
                "private-x", "\"\(String(repeating: "x", count: 10_241))\"",
                "The data content of this event exceeds the allowed maximum (10240 bytes)"
            ),
        ])
    func rejectionNamesTheReason(channel: String, data: String, message: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        for channel in ["public", "private-x", "private-encrypted-x"] {
            _ = try await client.subscribe(channel, socketID: socketID)
        }
        try await client.send(#"{"event":"client-e","channel":"\#(channel)","data":\#(data)}"#)
        #expect(await client.text() == errorFrame(message))
        await server.stop()
    }

    @Test func largestDataPasses() async throws {
        let server = try await PusherMockServer.start()
        let (sender, _) = try await TestClient.subscribed(to: "private-x", on: server)
        let (receiver, _) = try await TestClient.subscribed(to: "private-x", on: server)
        let data = String(repeating: "x", count: 10_240)
        try await sender.send(#"{"event":"client-e","channel":"private-x","data":"\#(data)"}"#)
        #expect(await receiver.text() == #"{"event":"client-e","channel":"private-x","data":"\#(data)"}"#)
        await server.stop()
    }

    @Test func applicationMayForbidThem() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(allowsClientEvents: false)]))
        let (client, _) = try await TestClient.subscribed(to: "private-x", on: server)
        try await client.send(#"{"event":"client-e","channel":"private-x","data":1}"#)
        #expect(
            await client.text()
                == errorFrame(
                    "To send client events, you must enable this feature in the Settings page of your dashboard."))
        await server.stop()
    }

    @Test func rateLimitIsReportedAndTheConnectionKept() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(clientEventRateLimit: 3)]))
        let (client, socketID) = try await TestClient.subscribed(to: "private-x", on: server)
        // More than the slowest machine sends over several seconds, the period that the limit covers.
        for _ in 0..<50 { try await client.send(#"{"event":"client-e","channel":"private-x","data":1}"#) }
        let refusal = errorFrame("Client event rejected due to rate limit", code: 4301)
        #expect(await client.text() == refusal)
        var answer = try await client.subscribe("c", socketID: socketID)
        while answer == refusal { answer = await client.text() }
        #expect(answer == succeeded("c"))
        await server.stop()
    }
}
