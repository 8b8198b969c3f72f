import Basics
import PusherTestSupport
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// A server with a WebSocket.
@Suite(.overSockets)
struct WorkspaceSocketTests {
    @Test(arguments: FakePydioMode.allCases)
    func changesArePushed_andNothingIsPolled(mode: FakePydioMode) async throws {
        try await EventScene.with(mode, .webSocket) { scene in
            let polls = scene.server.count("client_consume_channel")
            scene.makeFolder("one")
            scene.server.act("rename", ["file": "/a.txt", "filename_new": "z.txt"], as: "ada")
            #expect(await scene.tells(["node_created /one", "node_moved /z.txt < /a.txt"]))
            #expect(scene.server.count("client_consume_channel") == polls)
            #expect(scene.server.webSocketTexts == ["register:0"])
        }
    }

    /// The path that a key pair signs for the handshake is below the server's folder, too.
    @Test func aServerBelowAFolderIsSignedForThere() async throws {
        var configuration = EventScene.configuration(.v8, .webSocket)
        configuration.basePath = "/my~pydio"
        try await PydioScene.with(configuration) { pydio in
            let scene = EventScene(pydio)
            scene.events.start()
            #expect(await scene.isOnSocket())
            #expect(scene.server.count("login") == 0)
            scene.events.close()
        }
    }

    @Test func aMessageInTwoFramesIsOne() async throws {
        try await EventScene.with(.v8, .webSocket) { scene in
            scene.server.configure { $0.splitsWebSocketMessages = true }
            scene.makeFolder("one")
            scene.makeFolder("two")
            #expect(await scene.tells(["node_created /one", "node_created /two"]))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func whenItIsLostWhatWasMissedIsTold_andItIsOpenedAgain(mode: FakePydioMode) async throws {
        try await EventScene.with(mode, .webSocket) { scene in
            var gaps = scene.events.gaps.makeAsyncIterator()
            var errors = scene.events.errors.makeAsyncIterator()
            // During the listing, so that no mailbox contains the changes.
            scene.server.inject(.hold, into: "client_register_channel")
            scene.server.dropWebSockets()
            let server = scene.server
            #expect(await eventually { server.heldCount == 1 })
            scene.makeFolder("missed")
            scene.server.release()
            #expect(await scene.recorder.waitFor("node_created /missed late"))
            #expect(await gaps.next()?.channelName == scene.events.channelName)
            #expect(await errors.next()?.message.contains("WebSocket") == true)
            #expect(await scene.isOnSocket())
            scene.makeFolder("live")
            #expect(await scene.tells(["node_created /missed late", "node_created /live"]))
            #expect(scene.events.state == .connected && scene.recorder.count("reconnecting") == 0)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func oneThatIsNotThereCostsNothing_pollsDo(mode: FakePydioMode) async throws {
        try await PydioScene.with(EventScene.configuration(mode, .webSocket)) { pydio in
            let scene = EventScene(pydio)
            let server = pydio.server
            server.inject(.hold, into: "client_register_channel")
            var errors = scene.events.errors.makeAsyncIterator()
            scene.events.start()
            // The WebSocket has been offered by now.
            #expect(await eventually { server.heldCount == 1 })
            server.configure { $0.hasWebSocket = false }
            server.release()
            #expect(await scene.isConnected())
            #expect(await errors.next()?.willRetry == true)
            scene.makeFolder("one")
            #expect(await scene.recorder.waitFor("node_created /one"))
            scene.events.close()
        }
    }

    @Test func whoIsHeldReadsNothing_andThenEverything() async throws {
        try await EventScene.with(.v8, .webSocket) { scene in
            let sink = Sink()
            scene.events.attach(sink)
            scene.events.hold(true, for: sink)
            #expect(await scene.isQuiet())
            for number in 1...20 { scene.makeFolder("\(number)") }
            #expect(await scene.isQuiet())
            #expect(scene.nodes.isEmpty)
            scene.events.hold(false, for: sink)
            #expect(await scene.tells((1...20).map { "node_created /\($0)" }))
        }
    }

    @Test func theSessionsCookieGoesToNoOtherHost() async throws {
        try await PydioScene.with(EventScene.configuration(.v5_2, .webSocket)) { pydio in
            let url = try #require(URL(string: pydio.server.address.replacing("127.0.0.1", with: "localhost")))
            pydio.params.setUser(User(userid: "ada", password: PydioScene.password), forServer: url)
            let client = PydioClient(server: url, params: pydio.params, options: pydio.client.options)
            let events = PydioWorkspaceEvents(client: client, workspaceId: "0", options: EventScene.fast())
            var errors = events.errors.makeAsyncIterator()
            events.start()
            #expect(await errors.next()?.message.contains("another host") == true)
            #expect(pydio.server.webSocketTexts.isEmpty)
            #expect(await eventually { events.state == .connected })
            events.close()
        }
    }
}
