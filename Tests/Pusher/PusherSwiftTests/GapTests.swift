import Basics
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// A channel's reports about periods without events.
@Suite(.overSockets)
struct GapTests {
    private let recorder = Recorder()

    @Test func theHookAndTheSequenceGetTheIntervalAfterAReconnect() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            let hooked = Lock<[PusherGap]>([])
            channel.onGap = { gap in hooked.withLock { $0.append(gap) } }
            var gaps = pusher.gaps.makeAsyncIterator()
            let before = Date()
            pusher.connect()
            try await channel.subscribed()
            try await server.inject(.dropTCP, into: #require(pusher.connection.socketId))
            let gap = try #require(await gaps.next())
            #expect(gap.channelName == "c")
            #expect(gap.start >= before && gap.end >= gap.start && gap.end <= Date())
            #expect(await eventually { hooked.withLock { $0.count } == 1 })
            #expect(hooked.withLock { $0.first?.channelName } == "c")
        }
    }

    @Test func aRestByTheApplicationIsAGapToo() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            var gaps = pusher.gaps.makeAsyncIterator()
            let channel = pusher.subscribe("c")
            pusher.connect()
            try await channel.subscribed()
            pusher.disconnect()
            #expect(await recorder.waitFor("→ disconnected"))
            pusher.connect()
            #expect(await gaps.next()?.channelName == "c")
        }
    }
}
