import Basics
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import Realtime
import TestSupport
import Testing

/// A session's own bindings and sequences, without a `Pusher` client.
@Suite(.overSockets)
struct SessionEventsTests {
    private let heard = Lock<[String]>([])

    private func say(_ line: String) { heard.withLock { $0.append(line) } }

    @Test func bindingsGetTheEventsOfARoomOrOfAll() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        scene.session.bind("m.room.message", in: "!r:s") { event in
            say("room \(event.json["content"]?["body"]?.string ?? "-")")
        }
        let all = scene.session.bind { event in say("all \(event.eventName)") }
        scene.session.bind("m.typing") { event in say("named \(event.eventName)") }
        await scene.next(
            Sync.answer(
                "s2",
                Sync.room(
                    timeline: [Sync.message("$1", "one"), Sync.reaction("$2", to: "$1")],
                    more: #""ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":[]}}]}"#)))
        #expect(
            await eventually {
                heard.withLock { $0.filter { !$0.contains("matrix:") } } == [
                    "all m.room.message", "room one", "all m.reaction", "all m.typing", "named m.typing",
                ]
            })
        scene.session.unbind(all)
        heard.withLock { $0 = [] }
        await scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$3", "two")])))
        #expect(await eventually { heard.withLock { $0 } == ["room two"] })
        scene.session.close()
    }

    @Test func statesGapsAndErrorsAreSequencesOfTheirTypes() async throws {
        let scene = try await SessionScene()
        var states = scene.session.states.makeAsyncIterator()
        var gaps = scene.session.gaps.makeAsyncIterator()
        var errors = scene.session.errors.makeAsyncIterator()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        #expect(await states.next() == .storeDataReady)
        #expect(await states.next() == .syncInProgress)
        #expect(await states.next() == .running)
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")], isLimited: true)))
        #expect(await gaps.next()?.channelName == "matrix:!r:s")
        await scene.next(.error(502, "M_UNKNOWN"))
        let failure = try #require(await errors.next())
        #expect(failure.willRetry && failure.underlying is MXError)
        while let state = await states.next(), state != .syncError {}
        scene.session.close()
    }

    @Test func aSequenceThatIsNotReadStopsTheSync_andGoesOnWithIt() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let events = scene.session.events("m.room.message", buffering: .suspend(limit: 2))
        let count = 6
        #expect(await scene.isPolled())
        for number in 1...count {
            scene.script(Sync.answer("s\(number + 1)", Sync.room(timeline: [Sync.message("$\(number)", "\(number)")])))
        }
        scene.session.reconnect()
        var bodies: [String] = []
        for await event in events {
            bodies.append(event.json["content"]?["body"]?.string ?? "-")
            if bodies.count == count { break }
        }
        #expect(bodies == (1...count).map(String.init))
        scene.session.close()
    }
}
