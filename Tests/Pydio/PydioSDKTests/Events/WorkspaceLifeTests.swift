import Basics
import PusherTestSupport
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct WorkspaceLifeTests {
    @Test func aRefusedLoginEndsIt_withoutALoop() async throws {
        try await PydioScene.with(EventScene.configuration(.v5_2, .polls), password: "wrong") { pydio in
            let scene = EventScene(pydio)
            var errors = scene.events.errors.makeAsyncIterator()
            scene.events.start()
            let error = try #require(await errors.next())
            #expect(!error.willRetry && error.retryAfter == nil)
            #expect(await scene.recorder.waitFor("state disconnected"))
            #expect(scene.server.count("login") == 1)
            // With the right password it continues.
            pydio.params.setUser(User(userid: "ada", password: PydioScene.password), forServer: pydio.server.url)
            scene.events.start()
            #expect(await scene.isConnected())
            scene.events.close()
        }
    }

    @Test func anUnknownWorkspaceIsAnError_notAnotherWorkspacesEvents() async throws {
        try await PydioScene.with(EventScene.configuration(.v5_2, .polls)) { pydio in
            let scene = EventScene(pydio, workspace: "none")
            var errors = scene.events.errors.makeAsyncIterator()
            scene.events.start()
            let error = try #require(await errors.next())
            #expect(!error.willRetry && error.message.contains("no workspace"))
            #expect(scene.server.count("client_register_channel") == 0)
            scene.events.close()
        }
    }

    @Test func aServerThatTellsNothingIsSaidToBeSuch() async throws {
        var configuration = EventScene.configuration(.v8, .polls)
        configuration.hasPolling = false
        try await PydioScene.with(configuration) { pydio in
            let scene = EventScene(pydio)
            var errors = scene.events.errors.makeAsyncIterator()
            scene.events.start()
            #expect(await errors.next()?.message.contains("core.mq") == true)
            #expect(await scene.recorder.waitFor("state disconnected"))
            scene.events.close()
        }
    }

    @Test func aPauseIsSilent_andWhatHappenedMeanwhileIsTold() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            scene.events.pause()
            #expect(await scene.recorder.waitFor("state disconnected"))
            // The last poll may be pending.
            #expect(await scene.isQuiet())
            let count = scene.server.requests.count
            scene.makeFolder("one")
            #expect(await scene.isQuiet())
            #expect(scene.server.requests.count == count)
            scene.events.resume()
            // Its mailbox has kept the message. It is late if the pause has cancelled a poll, which may have had
            // messages.
            #expect(
                await eventually {
                    scene.nodes == ["node_created /one"] || scene.nodes == ["node_created /one late"]
                })
        }
    }

    @Test func theApplicationsClientDoesNotTellOfItsRequests() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            #expect(scene.scene.client.state == .idle)
        }
    }

    @Test func closingEndsSequences_andGivesUpTheMailbox() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let events = scene.events.events(PydioEventName.nodeCreated)
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            scene.events.close()
            var paths: [String] = []
            for await event in events { paths.append(event.path ?? "-") }
            #expect(paths == ["/one"])
            let server = scene.server
            #expect(await eventually { server.pollers.isEmpty })
            for await _ in scene.events.events() { Issue.record("an event of a closed source") }
        }
    }

    @Test func aSlowReaderStopsThePolls_andNothingIsLost() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let events = scene.events.events(PydioEventName.nodeCreated, buffering: .suspend(limit: 2))
            for number in 1...5 { scene.makeFolder("\(number)") }
            // A request may come between two of them: the others then arrive only once the first are read.
            #expect(await scene.recorder.waitFor("node_created /2"))
            #expect(await scene.isQuiet())
            var paths: [String] = []
            for await event in events {
                paths.append(event.path ?? "-")
                if paths.count == 5 { break }
            }
            #expect(paths == (1...5).map { "/\($0)" })
            scene.makeFolder("6")
            #expect(await scene.recorder.waitFor("node_created /6"))
        }
    }

    /// The sequence is still referenced.
    @Test func whoLeavesTheLoopHoldsNobodyUp() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let events = scene.events.events(PydioEventName.nodeCreated, buffering: .suspend(limit: 2))
            for number in 1...5 { scene.makeFolder("\(number)") }
            // A request may come between two of them: the others then arrive only once the first are read.
            #expect(await scene.recorder.waitFor("node_created /2"))
            #expect(await scene.isQuiet())
            for await _ in events { break }
            scene.makeFolder("6")
            #expect(await scene.recorder.waitFor("node_created /6"))
            withExtendedLifetime(events) {}
        }
    }

    @Test func aSequenceThatIsKeptAndNotReadIsReported_andSoIsItsEnd() async throws {
        try await EventScene.with(.v5_2, .polls) {
            $0.holdLimit = .milliseconds(50)
        } _: { scene in
            var errors = scene.events.errors.makeAsyncIterator()
            var events: EventSequence<PydioEvent>? = scene.events.events(
                PydioEventName.nodeCreated, buffering: .suspend(limit: 2))
            for number in 1...5 { scene.makeFolder("\(number)") }
            let held = try #require(await errors.next())
            #expect(held.message.contains("a sequence of “\(PydioEventName.nodeCreated)” is full"))
            #expect(events != nil)
            events = nil
            let resumed = try #require(await errors.next())
            #expect(resumed.message.contains("is read again or has ended"))
        }
    }

    @Test(arguments: [true, false]) func aSinkThatIsDetachedWhileItHoldsHoldsNobodyUp(isDetachedFirst: Bool)
        async throws
    {
        try await EventScene.with(.v5_2, .polls) { scene in
            let sink = Sink()
            scene.events.attach(sink)
            if !isDetachedFirst {
                scene.events.hold(true, for: sink)
                #expect(await scene.isQuiet())
            }
            scene.events.detach(sink)
            // As if called on another thread during the detachment.
            if isDetachedFirst { scene.events.hold(true, for: sink) }
            // The pending poll would report one.
            for name in ["one", "two", "three"] {
                scene.makeFolder(name)
                #expect(await scene.recorder.waitFor("node_created /\(name)"))
            }
        }
    }

    @Test func aQueueThatDoesNotRunStopsThePolls() async throws {
        let queue = DispatchQueue(label: "slow")
        try await PydioScene.with(EventScene.configuration(.v5_2, .polls)) {
            $0.completionQueue = queue
        } _: { pydio in
            let scene = EventScene(pydio)
            scene.events.start()
            #expect(await scene.isConnected())
            queue.suspend()
            for number in 1...1100 { pydio.server.post("<m n=\"\(number)\"/>") }
            #expect(await scene.isQuiet())
            queue.resume()
            #expect(await scene.recorder.waitFor("message", count: 1100))
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            scene.events.close()
        }
    }

    @Test func anUnboundHandlerIsSilent() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let count = Lock(0)
            let binding = scene.events.bind(PydioEventName.nodeCreated) { _ in count.withLock { $0 += 1 } }
            scene.makeFolder("one")
            #expect(await eventually { count.withLock { $0 } == 1 })
            scene.events.unbind(binding)
            scene.makeFolder("two")
            #expect(await scene.recorder.waitFor("node_created /two"))
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func aSourceThatIsLetGoOfEnds() async throws {
        try await PydioScene.with(EventScene.configuration(.v5_2, .polls)) { pydio in
            var events: PydioWorkspaceEvents? = PydioWorkspaceEvents(
                client: pydio.client, workspaceId: "0", options: EventScene.fast())
            events?.start()
            let server = pydio.server
            #expect(await eventually { server.pollers.count == 1 })
            events = nil
            #expect(await eventually { server.pollers.isEmpty })
        }
    }

    @Test func nothingSecretIsInErrors() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            var errors = scene.events.errors.makeAsyncIterator()
            let token = try #require(scene.scene.params.secureToken(forServer: scene.server.url))
            scene.server.inject(.errorDocument("\(token) \(PydioScene.password)"), into: "client_consume_channel")
            let message = try #require(await errors.next()).message
            #expect(!message.contains(token) && !message.contains(PydioScene.password))
        }
    }
}
