import PusherMockServer
import TestSupport
import Testing

struct CacheChannelTests {
    private func event(_ name: String, _ channel: String, _ data: String = "") -> String {
        #"{"event":"\#(name)","channel":"\#(channel)","data":"\#(data)"}"#
    }

    private func miss(_ channel: String) -> String { #"{"event":"pusher:cache_miss","channel":"\#(channel)"}"# }

    @Test(arguments: ["cache-x", "private-cache-x", "private-encrypted-cache-x"])
    func whatWasPublishedToNobodyReachesWhoeverSubscribesLater(channel: String) throws {
        var stage = Stage()
        try stage.connect("1.1")
        #expect(stage.publish("e", on: channel, "1") == [])
        stage.publish("e", on: channel, "2")
        #expect(
            try stage.subscribe("1.1", to: channel) == ["1.1 \(succeeded(channel))", "1.1 \(event("e", channel, "2"))"])
    }

    @Test func membersOfAPresenceChannelGetTheEventToo() throws {
        var stage = Stage()
        try stage.connect("1.1")
        stage.publish("e", on: "presence-cache-x")
        let frames = try stage.subscribe("1.1", to: "presence-cache-x", channelData: #"{"user_id":"u"}"#)
        #expect(frames.last == "1.1 \(event("e", "presence-cache-x"))")
        #expect(frames.count == 2)
    }

    @Test func missIsToldWhereNothingOrOnlyAClientEventWasSent() throws {
        var stage = Stage()
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        #expect(try stage.subscribe("1.1", to: "private-cache-x").last == "1.1 \(miss("private-cache-x"))")
        #expect(try stage.receive(#"{"event":"client-e","channel":"private-cache-x"}"#, from: "1.1") == [])
        #expect(try stage.subscribe("1.2", to: "private-cache-x").last == "1.2 \(miss("private-cache-x"))")
        #expect(try stage.subscribe("1.2", to: "c") == ["1.2 \(succeeded("c"))"], "an ordinary channel has no cache")
    }

    @Test func eventIsKeptForItsLifetime() throws {
        var stage = Stage(.init(cacheLifetime: .seconds(60)))
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        stage.publish("e", on: "cache-x")
        stage.time = 59.9
        #expect(try stage.subscribe("1.1", to: "cache-x").last == "1.1 \(event("e", "cache-x"))")
        stage.time = 60
        #expect(try stage.subscribe("1.2", to: "cache-x").last == "1.2 \(miss("cache-x"))")
    }

    @Test func missIsToldTheApplicationOnce() throws {
        var stage = Stage(.init(webhooks: .init()))
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        let webhook = #"webhook {"name":"cache_miss","channel":"cache-x"}"#
        #expect(try stage.subscribe("1.1", to: "cache-x").last == webhook)
        #expect(try stage.subscribe("1.2", to: "cache-x").last == "1.2 \(miss("cache-x"))")
        stage.publish("e", on: "cache-x")
        stage.time = 3600
        #expect(try stage.subscribe("1.3", to: "cache-x").last == webhook)
    }
}

@Suite(.overSockets)
struct CacheAttributeTests {
    @Test func contentIsToldOnRequest() async throws {
        let server = try await PusherMockServer.start()
        let api = SignedAPI(server: server)
        let info = [("info", "cache")]
        #expect(try await api.get("channels/cache-x", info).body == #"{"occupied":false,"cache":null}"#)
        await server.publish(event: "e", channel: "cache-x", data: "\"1\"")
        let (client, socketID) = try await TestClient.established(to: server)
        _ = try await client.subscribe("cache-x", socketID: socketID)
        let answer = try await api.get("channels/cache-x", info).body
        let match = answer.wholeMatch(of: #/{"occupied":true,"cache":{"data":"\\"1\\"","ttl":(\d+)}}/#)
        let secondsLeft = match.flatMap { Int($0.output.1) }
        #expect(secondsLeft.map { (1500...1800).contains($0) } == true, "\(answer)")
        #expect(try await api.get("channels/c", info).status == 400)
        await server.stop()
    }
}
