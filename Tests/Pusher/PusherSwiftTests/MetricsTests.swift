import MetricsTestKit
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct MetricsTests {
    private let recorder = Recorder()

    @Test func whatHappensIsCounted() async throws {
        try await withServer { server in
            let metrics = TestMetrics()
            let pusher = Pusher.make(server, recorder) { $0.metrics = PusherMetrics(prefix: "p", factory: metrics) }
            func total(_ name: String) throws -> Int64 { try metrics.expectCounter("p.\(name)").totalValue }
            let channel = pusher.subscribe("c")
            pusher.connect()
            try await channel.subscribed()
            #expect(try total("messages.received") == 2)
            #expect(try total("messages.sent") == 1)
            #expect(try total("bytes.received") > 100)
            _ = try await pusher.connection.ping()
            #expect(try metrics.expectTimer("p.ping.latency").values.count == 1)
            await server.publish(event: "e", channel: "c", data: "")
            let socketID = try #require(pusher.connection.socketId)
            try await server.send(raw: "nonsense", to: socketID)
            #expect(await recorder.waitFor("error ignored"))
            #expect(try total("events.received") == 2)
            #expect(try total("events.dropped") == 1)
            #expect(try total("errors") == 1)
            try await server.inject(.dropTCP, into: socketID)
            #expect(await recorder.waitFor("subscribed c", count: 2))
            #expect(try total("reconnects") == 1)
        }
    }

    @Test func whatASlowReaderMissesIsCounted() async throws {
        try await withServer { server in
            let metrics = TestMetrics()
            let pusher = Pusher.make(server, recorder) { $0.metrics = PusherMetrics(prefix: "p", factory: metrics) }
            let channel = pusher.subscribe("c")
            let unread = channel.events("e", buffering: .dropOldest(limit: 10))
            channel.bind(eventName: "last") { [recorder] _ in recorder.add("last") }
            pusher.connect()
            try await channel.subscribed()
            for _ in 0..<25 { await server.publish(event: "e", channel: "c", data: "") }
            await server.publish(event: "last", channel: "c", data: "")
            #expect(await recorder.waitFor("last"))
            #expect(try metrics.expectCounter("p.events.dropped").totalValue == 15)
            withExtendedLifetime(unread) {}
        }
    }
}
