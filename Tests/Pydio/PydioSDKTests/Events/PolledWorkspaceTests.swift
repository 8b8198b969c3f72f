import Basics
import PusherTestSupport
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// A server with mailboxes only.
@Suite(.overSockets)
struct PolledWorkspaceTests {
    @Test(arguments: FakePydioMode.allCases)
    func whatOthersDoComesInOrder_andNothingOfTheTimeBefore(mode: FakePydioMode) async throws {
        try await PydioScene.with(EventScene.configuration(mode, .polls)) { pydio in
            let scene = EventScene(pydio)
            scene.makeFolder("before")
            scene.events.start()
            #expect(await scene.isConnected())
            let server = scene.server
            scene.makeFolder("ä & b")
            server.act("mkfile", ["dir": "/ä & b", "filename": "n.txt", "content": "12345"], as: "ada")
            server.act("put_content", ["file": "/a.txt", "content": "longer than before"], as: "ada")
            server.act("rename", ["file": "/a.txt", "filename_new": "z.txt"], as: "ada")
            server.act("move", ["nodes[]": "/z.txt", "dest": "/docs"], as: "ada")
            server.act("delete", ["nodes[]": "/docs/z.txt"], as: "ada")
            #expect(
                await scene.tells([
                    "node_created /ä & b", "node_created /ä & b/n.txt", "node_updated /a.txt",
                    "node_moved /z.txt < /a.txt", "node_moved /docs/z.txt < /z.txt",
                    "node_moved /recycle_bin/z.txt < /docs/z.txt",
                ]))
            scene.events.close()
        }
    }

    @Test func bookmarksAndOtherMessagesCome() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            scene.server.post("<reload_bookmarks/>")
            scene.server.post(#"<reload_instruction object="repository_list"/>"#)
            scene.server.post(#"<reload_instruction object="data" node="/x"/>"#)
            scene.server.post(#"<task id="7"/>"#)
            #expect(await scene.recorder.waitFor("message"))
            #expect(
                scene.recorder.all.filter { !$0.hasPrefix("state") } == [
                    "bookmarks_changed", "workspaces_changed", "reload", "message",
                ])
        }
    }

    @Test func aLostTokenIsNotSeen() async throws {
        try await EventScene.with(.v8, .polls) { scene in
            var gaps = scene.events.gaps.makeAsyncIterator()
            try await makeFoldersAcrossLostLogins(scene)
            #expect(await scene.tells(["node_created /one", "node_created /two"]))
            scene.events.close()
            #expect(await gaps.next() == nil)
        }
    }

    /// The mailbox may be a new one, and later changes may hide its messages.
    @Test func whatChangesAroundALostSessionComesLate_withAGap() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            var gaps = scene.events.gaps.makeAsyncIterator()
            try await makeFoldersAcrossLostLogins(scene)
            #expect(scene.nodes == ["node_created /one late", "node_created /two late"])
            for _ in 1...2 { #expect(await gaps.next()?.channelName == scene.events.channelName) }
            scene.events.close()
            #expect(await gaps.next() == nil)
        }
    }

    private func makeFoldersAcrossLostLogins(_ scene: EventScene) async throws {
        let logins = scene.server.count("login")
        let sink = Sink()
        scene.events.attach(sink)
        scene.events.hold(true, for: sink)
        #expect(await scene.isQuiet())
        scene.server.expireSessions()
        scene.makeFolder("one")
        scene.events.hold(false, for: sink)
        #expect(await eventually { scene.nodes.count == 1 })
        scene.events.hold(true, for: sink)
        #expect(await scene.isQuiet())
        scene.server.expireTokens()
        scene.makeFolder("two")
        scene.events.hold(false, for: sink)
        #expect(await eventually { scene.nodes.count == 2 })
        #expect(scene.recorder.all.filter { $0.hasPrefix("state") } == ["state connecting", "state connected"])
        #expect(scene.server.count("login") <= logins + 1)
    }

    @Test func aMailboxThatIsGoneIsAGap_andWhatWasInItIsFoundByComparing() async throws {
        try await EventScene.with(.v5_2, .polls) {
            $0.mailboxLife = .milliseconds(200)
        } _: { scene in
            var gaps = scene.events.gaps.makeAsyncIterator()
            let sink = Sink()
            scene.events.attach(sink)
            scene.events.hold(true, for: sink)
            #expect(await scene.isQuiet())
            scene.makeFolder("one")
            scene.server.act("delete", ["nodes[]": "/a.txt"], as: "ada")
            let other = EventScene(scene.scene)
            scene.server.advanceClock(by: .seconds(700))
            other.events.start()
            #expect(await other.isConnected())
            other.events.close()
            let end = ContinuousClock.now + .milliseconds(250)
            #expect(await eventually { ContinuousClock.now > end })
            scene.events.hold(false, for: sink)
            #expect(
                await scene.tells([
                    "node_deleted /a.txt late", "node_created /one late", "node_created /recycle_bin/a.txt late",
                ]))
            #expect(await gaps.next()?.channelName == scene.events.channelName)
            scene.makeFolder("two")
            #expect(await scene.recorder.waitFor("node_created /two"))
        }
    }

    @Test func aServerThatWasAwayIsAskedAgain_andWhatWasMissedIsTold() async throws {
        var configuration = EventScene.configuration(.v5_2, .polls)
        let first = try await PydioScene(configuration)
        let scene = EventScene(first)
        var (errors, gaps) = (scene.events.errors.makeAsyncIterator(), scene.events.gaps.makeAsyncIterator())
        scene.events.start()
        #expect(await scene.isConnected())
        configuration.port = first.server.port
        await first.server.stop()
        #expect(await scene.recorder.waitFor("state reconnecting"))
        let error = try #require(await errors.next())
        #expect(error.willRetry && error.retryAfter != nil && error.channelName == scene.events.channelName)
        let second = try await FakePydioServer.start(configuration)
        try second.addFile("/a.txt", Array("hello".utf8))
        try second.addFile("/new.txt", Array("n".utf8))
        #expect(await scene.isConnected())
        #expect(await scene.recorder.waitFor("node_created /new.txt late"))
        #expect(await scene.recorder.waitFor("node_deleted /docs late"))
        #expect(await gaps.next() != nil)
        second.act("mkdir", ["dir": "/", "dirname": "live"], as: "ada")
        #expect(await scene.recorder.waitFor("node_created /live"))
        scene.events.close()
        await second.stop()
        await first.end()
    }

    @Test(arguments: [FakePydioServer.Fault.cut(after: 20), .truncated, .drop])
    func anAnswerThatIsLostLosesNothing(fault: FakePydioServer.Fault) async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let sink = Sink()
            scene.events.attach(sink)
            scene.events.hold(true, for: sink)
            #expect(await scene.isQuiet())
            scene.makeFolder("one")
            scene.server.inject(fault, into: "client_consume_channel")
            scene.events.hold(false, for: sink)
            #expect(await scene.recorder.waitFor("node_created /one"))
            scene.makeFolder("two")
            #expect(await scene.recorder.waitFor("node_created /two"))
            #expect(scene.recorder.count("/one") == 1 && scene.recorder.count("/two") == 1)
        }
    }

    @Test(arguments: [FakePydioServer.Fault.htmlPage(), .status(503), .garbage, .errorDocument("no")])
    func errorsOfTheServersAreToldAndWaitedFor(fault: FakePydioServer.Fault) async throws {
        try await EventScene.with(.v8, .polls) { scene in
            var errors = scene.events.errors.makeAsyncIterator()
            scene.server.inject(fault, into: "client_consume_channel", times: 3)
            #expect(await errors.next()?.willRetry == true)
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
        }
    }

    @Test func theSameMessageTwiceIsToldOnce() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let diff =
                #"<nodes_diff><add><tree is_file="true" filename="/x" bytesize="1" ajxp_modiftime="9"/></add></nodes_diff>"#
            scene.server.post(diff)
            scene.server.post(diff)
            scene.server.post("<reload_bookmarks/>")
            #expect(await scene.recorder.waitFor("bookmarks_changed"))
            #expect(scene.nodes == ["node_created /x"])
        }
    }

    @Test func withMoreThanCanBeRememberedGapsAloneAreTold() async throws {
        try await EventScene.with(.v5_2, .polls) {
            $0.maximumNodes = 2
        } _: { scene in
            var gaps = scene.events.gaps.makeAsyncIterator()
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            scene.server.inject(.status(503), into: "client_consume_channel")
            #expect(await gaps.next() != nil)
            scene.makeFolder("two")
            #expect(await scene.recorder.waitFor("node_created /two"))
            #expect(scene.recorder.count("late") == 0)
        }
    }

    @Test func largeFoldersAreListedWhole() async throws {
        try await PydioScene.with(EventScene.configuration(.v5_2, .polls)) { pydio in
            pydio.server.configure { ($0.pageThreshold, $0.pageSize) = (3, 2) }
            for number in 0..<9 { try pydio.server.addFile("/docs/\(number)") }
            let scene = EventScene(pydio)
            scene.events.start()
            #expect(await scene.isConnected())
            scene.server.inject(.status(503), into: "client_consume_channel")
            #expect(await scene.recorder.waitFor("state connected", count: 2))
            scene.makeFolder("one")
            #expect(await scene.tells(["node_created /one"]))
            scene.events.close()
        }
    }
}

/// A sink for which a source can be held.
final class Sink: RealtimeEventSink {
    func receive(_ events: SourceEvents) {}
    func receive(_ failure: SourceFailure) {}
    func receive(_ gap: SourceGap) {}
}

extension EventScene {
    /// Whether no poll arrives for a while.
    func isQuiet() async -> Bool {
        await eventually {
            let before = server.count("client_consume_channel")
            let end = ContinuousClock.now + .milliseconds(60)
            _ = await eventually { ContinuousClock.now > end }
            return server.count("client_consume_channel") == before
        }
    }
}
