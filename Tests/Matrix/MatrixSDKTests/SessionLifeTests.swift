import Basics
import Dispatch
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import PusherSwift
import TestSupport
import Testing

/// Starting, pausing and notifications.
@Suite(.overSockets)
struct SessionLifeTests {
    private final class Sink: RealtimeEventSink {
        func receive(_ events: SourceEvents) {}
        func receive(_ failure: SourceFailure) {}
        func receive(_ gap: SourceGap) {}
    }

    // MARK: Pausing and starting

    @Test func aStartRightBehindAPauseStarts() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        for number in 2...6 {
            #expect(await scene.isPolled())
            scene.script(Sync.answer("s\(number)"))
            scene.session.pause()
            try await scene.session.start()
        }
        #expect(await eventually { scene.session.state == .running })
    }

    @Test func aPauseOfWhatDoesNotRunAsksForNothing() async throws {
        let scene = try await SessionScene()
        scene.session.retainPreventPause()
        scene.session.pause()
        #expect(scene.session.state == .initialised)
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        scene.session.releasePreventPause()
        #expect(await scene.isPolled())
        #expect(scene.session.state == .running)
    }

    @Test func aStartTakesBackAPauseThatWasAskedFor() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        scene.session.retainPreventPause()
        scene.session.pause()
        #expect(scene.session.state == .pauseRequested)
        try await scene.session.start()
        #expect(scene.session.state == .running)
        scene.session.releasePreventPause()
        await scene.next(Sync.answer("s2"))
        #expect(await eventually { scene.polls.last?.parameter("since") == "s2" })
        #expect(scene.session.state == .running)
    }

    @Test func whoHoldsASessionBeforeItsStartIsHeard() async throws {
        let scene = try await SessionScene()
        let sink = Sink()
        scene.session.attach(sink)
        scene.session.hold(true, for: sink)
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        #expect(await !eventually(within: .milliseconds(50)) { scene.polls.count > 1 })
        scene.session.hold(false, for: sink)
        #expect(await eventually { scene.polls.count == 2 })
    }

    @Test func aLaterStartMayBringAnotherFilter() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start(withSyncFilterId: "7")
        try await scene.session.start(withSyncFilterId: "8")
        await scene.next(Sync.answer("s2"))
        #expect(await eventually { scene.polls.last?.parameter("filter") == "8" })
        #expect(scene.polls.first?.parameter("filter") == "7")
    }

    // MARK: In the background

    @Test func aPausedSessionSyncsOnceInTheBackground() async throws {
        let scene = try await SessionScene { $0.setsPresence = true }
        await #expect { try await scene.session.backgroundSync() } throws: {
            ($0 as? MatrixError)?.code == .invalidArgument
        }
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        #expect(await scene.isPolled())
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        let states = Lock<[MXSessionState]>([])
        let token = NotificationCenter.default.addObserver(
            forName: .mxSessionDidSync, object: scene.session, queue: nil
        ) { note in states.withLock { $0.append((note.object as? MXSession)?.state ?? .closed) } }
        defer { NotificationCenter.default.removeObserver(token) }
        scene.script(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])).after(.milliseconds(100)))
        let sync = Task { try await scene.session.backgroundSync() }
        #expect(await eventually { scene.session.state == .backgroundSyncInProgress })
        try await sync.value
        #expect(scene.session.state == .paused)
        #expect(scene.session.rooms.first?.summary.lastMessageId == "$1")
        let poll = try #require(scene.polls.last)
        #expect(poll.parameter("set_presence") == "offline" && poll.parameter("timeout") == "0")
        #expect(poll.parameter("since") == "s1")
    }

    @Test func aBackgroundSyncThatTakesTooLongIsGivenUp_andOneThatFailsSaysWhy() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        #expect(await scene.isPolled())
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        await #expect { try await scene.session.backgroundSync(timeout: 0.05) } throws: {
            ($0 as? MatrixError)?.code == .timedOut
        }
        #expect(scene.session.state == .paused)
        // The same holds for an abandoned request that is answered this late.
        scene.server.on("GET", "v3/sync", .error(500, "M_UNKNOWN"))
        await #expect(throws: MXError.self) { try await scene.session.backgroundSync() }
        #expect(scene.session.state == .paused)
    }

    @Test func aStartDuringABackgroundSyncWaitsForItsEnd() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        #expect(await scene.isPolled())
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        let before = scene.polls.count
        scene.script(Sync.answer("s2").after(.milliseconds(100)), Sync.answer("s3"))
        let sync = Task { try await scene.session.backgroundSync() }
        #expect(await eventually { scene.polls.count == before + 1 })
        try await scene.session.start()
        try await sync.value
        #expect(scene.session.state == .running)
        #expect(scene.polls[before + 1].parameter("since") == "s2")
    }

    // MARK: Notifications

    @Test func leavingIsToldInOrder() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let told = Lock<[String]>([])
        let names: [(Notification.Name, String)] = [
            (.mxSessionWillLeaveRoom, "will leave"), (.mxSessionDidLeaveRoom, "did leave"),
            (.mxSessionDidSync, "synced"),
        ]
        let tokens = names.map { name, text in
            NotificationCenter.default.addObserver(forName: name, object: scene.session, queue: nil) { _ in
                told.withLock { $0.append(text) }
            }
        }
        defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
        scene.session.listenToEvents([.roomMember]) { event, _, _ in told.withLock { $0.append(event.eventId) } }
        await scene.next(Sync.answer("s2", Self.left))
        // The start's own sync may be reported after it returns.
        let leaving = { @Sendable in told.withLock { Array($0.drop { $0 != "will leave" }) } }
        #expect(await eventually { leaving().contains("synced") })
        #expect(leaving().filter { $0 != "$k" } == ["will leave", "did leave", "synced"])
        #expect(leaving().dropFirst().first == "$k")
    }

    private static let left = #"""
        "rooms":{"leave":{"!r:s":{"timeline":{"events":[{"type":"m.room.member","event_id":"$k","sender":"@b:s",
        "state_key":"@a:s","content":{"membership":"leave"}}]}}}}
        """#

    @Test func aRoomThatIsJoinedAgainBeforeTheLeavingIsTold_isNotClosed() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let old = try #require(scene.session.room(withRoomId: "!r:s"))
        let queue = DispatchQueue(label: "slow")
        queue.suspend()
        scene.session.matrixRestClient.completionQueue = queue
        let heard = Lock<[String]>([])
        old.liveTimeline.listenToEvents { event, _, _ in heard.withLock { $0.append("old \(event.eventId)") } }
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])), Sync.answer("s3", Self.left),
            Sync.answer("s4", Sync.room(state: Sync.members)))
        #expect(await eventually { scene.polls.last?.parameter("since") == "s4" })
        let new = try #require(scene.session.room(withRoomId: "!r:s"))
        #expect(new !== old)
        new.liveTimeline.listenToEvents { event, _, _ in heard.withLock { $0.append("new \(event.eventId)") } }
        queue.resume()
        await scene.next(Sync.answer("s5", Sync.room(timeline: [Sync.message("$5")])))
        #expect(await eventually { heard.withLock { $0.last } == "new $5" })
        #expect(heard.withLock { $0.filter { $0.hasPrefix("old") } }.first == "old $1")
        #expect(heard.withLock { $0.filter { $0.hasPrefix("new") } } == ["new $5"])
    }

    @Test func aMessageToTheDeviceIsInItsNotification() async throws {
        let scene = try await SessionScene()
        let types = Lock<[String]>([])
        let token = NotificationCenter.default.addObserver(
            forName: .mxSessionOnToDeviceEvent, object: scene.session, queue: nil
        ) { note in
            types.withLock { $0.append((note.userInfo?[kMXSessionNotificationEventKey] as? MXEvent)?.type ?? "-") }
        }
        defer { NotificationCenter.default.removeObserver(token) }
        scene.script(Sync.answer("s1", #""to_device":{"events":[{"type":"m.dummy","sender":"@b:s","content":{}}]}"#))
        try await scene.session.start()
        #expect(await eventually { types.withLock { $0 } == ["m.dummy"] })
    }

    @Test func aRoomWithoutAnIdIsLoggedOnce() async throws {
        let lines = LogLines()
        let scene = try await SessionScene { $0.logger = lines.logger }
        scene.script(Sync.answer("s1", #""rooms":{"join":{"../x":{}}}"#))
        scene.script(Sync.answer("s2", #""rooms":{"join":{"":{}}}"#))
        try await scene.session.start()
        #expect(await eventually { scene.server.requests("GET", "v3/sync").count >= 3 })
        #expect(scene.session.rooms.isEmpty)
        #expect(lines.all.count == 1 && lines.all.first?.contains("matrix.rooms") == true)
    }

    @Test func whatWasLeftOutIsLogged() async throws {
        let lines = LogLines()
        let scene = try await SessionScene { $0.logger = lines.logger }
        scene.script(Sync.answer("s1", #""presence":{"events":[7]}"#))
        try await scene.session.start()
        #expect(lines.all.count == 1 && lines.all.first?.contains("matrix.malformed") == true)
    }
}
