import Basics
import PusherTestSupport
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// A server that keeps a log of changes.
@Suite(.overSockets)
struct WorkspaceFeedTests {
    @Test(arguments: FakePydioMode.allCases, [EventScene.Way.feed, .feedAndWebSocket])
    func changesAreReadFromTheLog_onceEach(mode: FakePydioMode, way: EventScene.Way) async throws {
        try await EventScene.with(mode, way) { scene in
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            scene.server.act("rename", ["file": "/a.txt", "filename_new": "z.txt"], as: "ada")
            #expect(await scene.recorder.waitFor("node_moved"))
            scene.server.act("delete", ["nodes[]": "/z.txt"], as: "ada")
            #expect(
                await scene.tells(["node_created /one", "node_moved /z.txt < /a.txt", "node_deleted /z.txt"]))
            let (events, server) = (scene.events, scene.server)
            #expect(await eventually { events.sequence.map { Int($0) } == server.lastChange })
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func nothingIsLostWhileAway(mode: FakePydioMode) async throws {
        try await EventScene.with(mode, .feed) { scene in
            let (pydio, server) = (scene.scene, scene.server)
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            let sequence = try #require(scene.events.sequence)
            scene.events.close()
            #expect(await eventually { server.pollers.isEmpty })
            scene.makeFolder("two")
            let next = EventScene(pydio) { $0.sequence = sequence }
            next.events.start()
            #expect(await next.tells(["node_created /two"]))
            next.events.pause()
            #expect(await next.recorder.waitFor("state disconnected"))
            scene.makeFolder("three")
            next.events.resume()
            #expect(await next.tells(["node_created /two", "node_created /three"]))
            #expect(next.recorder.count("late") == 0)
            next.events.close()
        }
    }

    @Test func aLostSocketLosesNothing_andIsNoGap() async throws {
        try await EventScene.with(.v8, .feedAndWebSocket) { scene in
            var gaps = scene.events.gaps.makeAsyncIterator()
            let server = scene.server
            server.inject(.hold, into: "client_register_channel")
            server.dropWebSockets()
            #expect(await eventually { server.heldCount == 1 })
            scene.makeFolder("missed")
            server.release()
            #expect(await scene.tells(["node_created /missed"]))
            scene.events.close()
            #expect(await gaps.next() == nil)
        }
    }

    @Test func aLogThatBeginsAnewIsAGap_andTheWorkspaceIsListed() async throws {
        try await EventScene.with(.v8, .feed) { scene in
            // So that the files are known from the log.
            for name in ["one", "two", "three"] { scene.makeFolder(name) }
            #expect(await scene.recorder.waitFor("node_created /three"))
            var gaps = scene.events.gaps.makeAsyncIterator()
            let sink = Sink()
            scene.events.attach(sink)
            scene.events.hold(true, for: sink)
            #expect(await scene.isQuiet())
            scene.server.resetChanges()
            scene.server.remove("/two")
            scene.events.hold(false, for: sink)
            scene.events.check()
            #expect(await gaps.next() != nil)
            #expect(await scene.recorder.waitFor("node_deleted /two late"))
            #expect(scene.recorder.count("/one") == 1)
            scene.makeFolder("after")
            scene.makeFolder("afterwards")
            #expect(await scene.recorder.waitFor("node_created /afterwards"))
        }
    }

    @Test func aCutAnswerIsAskedForAgainFromTheSamePlace() async throws {
        try await EventScene.with(.v8, .feed) { scene in
            scene.server.inject(.truncated, into: "changes")
            scene.makeFolder("one")
            #expect(await scene.tells(["node_created /one"]))
        }
    }

    @Test func whereTheLogCannotBeReadMessagesAreTaken() async throws {
        try await PydioScene.with(EventScene.configuration(.v8, .feed)) { pydio in
            pydio.server.inject(.emptyBody, into: "changes", times: nil)
            let scene = EventScene(pydio)
            scene.events.start()
            #expect(await scene.isConnected())
            scene.makeFolder("one")
            #expect(await scene.tells(["node_created /one"]))
            #expect(scene.events.sequence == nil)
            scene.events.close()
        }
    }
}
