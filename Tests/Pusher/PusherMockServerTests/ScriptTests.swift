import TestSupport
import Testing

@testable import PusherMockServer

struct ScriptTests {
    @Test(
        arguments: [
            ("{}", "a script is a JSON array of objects"), ("nonsense", "a script is a JSON array of objects"),
            ("[1]", "a script is a JSON array of objects"), (#"[],"x":[]"#, "a script is a JSON array of objects"),
            ("[{}]", "step 1: it has no “do”"),
            (#"[{"do":"drop"},{"do":"dance"}]"#, "step 2: unknown action “dance”"),
            (#"[{"do":1}]"#, "step 1: “do” must be a string"),
            (#"[{"do":"drop","on":"rain"}]"#, "step 1: “on” is connection or subscribe, not “rain”"),
            (#"[{"do":"drop","after":-1}]"#, "step 1: “after” must be a number of seconds"),
            (#"[{"do":"drop","times":0}]"#, "step 1: “times” must be a whole number, at least 1"),
            (#"[{"do":"close","code":1}]"#, "step 1: “code” must be a whole number, at least 1000 and at most 4999"),
            (#"[{"do":"drop","code":4200}]"#, "step 1: “code” means nothing here"),
            (#"[{"do":"drop","channel":"c"}]"#, "step 1: a “channel” means nothing to drop"),
            (#"[{"do":"publish","channel":"c"}]"#, "step 1: publish needs an “event”"),
            (
                #"[{"do":"publish","event":"e"}]"#,
                "step 1: publish needs a “channel”, unless it is done on subscribe"
            ),
        ])
    func mistakeIsNamed(json: String, message: String) {
        let error = #expect(throws: PusherMockServerError.self) { try PusherMockServer.Script(json: json) }
        #expect(error?.code == .invalidScript)
        #expect(error?.message == message)
    }

    private func due(_ player: inout ScriptPlayer, _ entry: PusherMockServer.LogEntry) -> [String] {
        player.happened(entry).map { "\($0.step.action) \($0.socketID ?? "") \($0.channel ?? "")" }
    }

    @Test func stepsAreDueWhenTheyAreTriggered() throws {
        let script = try PusherMockServer.Script(
            json: """
                [{"do": "clear-faults"}, {"on": "connection", "do": "drop", "times": 1},
                 {"on": "subscribe", "do": "silent"}, {"on": "subscribe", "channel": "a", "do": "reset", "times": 2},
                 {"do": "refuse", "times": 3}]
                """)
        var player = ScriptPlayer(script)
        #expect(player.started().map(\.step.action).count == 2)
        #expect(player.started().count == 2, "the times of a fault are its own")
        let opened = PusherMockServer.LogEntry.connectionOpened(socketID: "1.1", app: "k")
        #expect(due(&player, opened) == ["strike(PusherMockServer.PusherMockServer.ConnectionFault.dropTCP) 1.1 "])
        #expect(due(&player, opened) == [])
        #expect(player.happened(.subscribed(channel: "b", socketID: "1.1")).count == 1)
        for count in [2, 2, 1] {
            #expect(player.happened(.subscribed(channel: "a", socketID: "1.1")).count == count)
        }
        #expect(player.happened(.unsubscribed(channel: "a", socketID: "1.1")) == [])
    }
}

@Suite(.overSockets)
struct ScriptedServerTests {
    private func server(_ fixture: String) async throws -> PusherMockServer {
        let script = try PusherMockServer.Script(json: Fixtures.text("scripts/\(fixture).json"))
        return try await PusherMockServer.start(.init(script: script))
    }

    @Test func tickerPublishesToWhoeverSubscribes() async throws {
        let server = try await server("ticker")
        let (client, _) = try await TestClient.subscribed(to: "prices", on: server)
        for price in [100, 101, nil, 102] {
            let frame = price.map { #"{"event":"tick","channel":"prices","data":"{\"price\":\#($0)}"}"# }
            #expect(await client.text() == frame ?? "{nonsense")
        }
        await server.stop()
    }

    @Test func deniedFailsTheFirstAuthRequests() async throws {
        let server = try await server("denied")
        var answers: [SignedAPI.Answer] = []
        for _ in 0..<4 {
            answers.append(
                try await SignedAPI.send(
                    "POST", "/pusher/auth", to: server, body: "socket_id=1.2&channel_name=private-x"))
        }
        #expect(answers.map(\.status) == [403, 403, 200, 200])
        #expect(answers[1].body == "Forbidden")
        #expect(answers[2].body == "not json")
        await server.stop()
    }

    @Test func reconnectClosesDropsAndRefuses() async throws {
        let server = try await server("reconnect")
        let (client, _) = try await TestClient.established(to: server)
        #expect(await client.next() == .close(code: 4200, reason: "please reconnect"))
        let (second, _) = try await TestClient.established(to: server)
        #expect(await second.next() == .end)
        let refusal = errorFrame("Over capacity", code: 4100)
        let isRefused = await eventually {
            guard let client = try? await TestClient.connect(to: server) else { return false }
            return await client.text() == refusal
        }
        #expect(isRefused)
        await server.stop()
    }

    @Test func stepsAtTheStartAreTakenBeforeAnybodyConnects() async throws {
        let script = try PusherMockServer.Script(json: #"[{"do":"refuse","code":4001,"times":1}]"#)
        let server = try await PusherMockServer.start(.init(script: script))
        let client = try await TestClient.connect(to: server)
        #expect(await client.text() == errorFrame("Refused by a script", code: 4001))
        _ = try await TestClient.established(to: server)
        #expect(await server.waitFor { $0.connectionCount == 1 })
        await server.stop()
    }
}
