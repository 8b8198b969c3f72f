import Foundation
import MatrixTestSupport
import PusherMockServer
import PydioTestSupport
import TestSupport
import Testing

/// `pydio watch`, and `listen --pydio`.
@Suite(.overSockets)
struct PydioWatchTests {
    /// Returns a scene with a WebSocket, so that events come at once.
    private func scene(mode: FakePydioMode = .v8, isLoggedIn: Bool = true) async throws -> PydioScene {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.hasWebSocket = true
        return try await PydioScene(configuration, isLoggedIn: isLoggedIn)
    }

    /// Polls bring the events before the WebSocket is connected.
    private let soon = ["--poll-interval", "2"]

    /// Whether each of the watched workspaces reports a connection.
    private func isConnected(_ lines: [String], _ count: Int = 1) -> Bool {
        lines.count { $0.contains(#""source":"pydio""#) && $0.contains(#""to":"connected""#) } == count
    }

    private func events(_ run: CommandRun) -> [[String: Any]] {
        run.objects.filter { $0["type"] as? String == "event" }
    }

    @Test(arguments: FakePydioMode.allCases)
    func whatHappensIsPrinted(mode: FakePydioMode) async throws {
        let scene = try await scene(mode: mode)
        let run = try scene.run(["pydio", "watch", "Plans", "--json", "--count", "3"] + soon)
        #expect(await run.waitFor { isConnected($0) })
        #expect(await eventually { scene.server.webSockets == ["0"] })
        // One by one, because a log of changes shows only the net effect of many.
        scene.server.act("mkdir", ["dir": "/", "dirname": "it's é"], as: "ada")
        #expect(await run.waitFor { $0.contains { $0.contains("node_created") } })
        scene.server.act("rename", ["file": "/it's é", "dest": "/b&c"], as: "ada")
        #expect(await run.waitFor { $0.contains { $0.contains("node_moved") } })
        scene.server.act("delete", ["nodes[]": "/b&c"], as: "ada")
        #expect(await run.status() == 0)
        let events = events(run)
        #expect(events.count == 3)
        #expect(events.first?["event"] as? String == "pydio:node_created")
        #expect(events.first?["path"] as? String == "/it's é")
        #expect(events.first?["workspace_id"] as? String == "0")
        #expect(events.first?["channel"] as? String == "pydio:127.0.0.1:\(scene.server.port)/0")
        let data = try #require((events.first?["data"] as? String).map { Data($0.utf8) })
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(object["path"] as? String == "/it's é" && object["is_leaf"] as? Bool == false)
        #expect(events.dropFirst().first?["event"] as? String == "pydio:node_moved")
        #expect(events.dropFirst().first?["original_path"] as? String == "/it's é")
        #expect(events.allSatisfy { $0["time"] is String })
        let states = run.objects.filter { $0["type"] as? String == "state" }
        #expect(states.map { $0["to"] as? String } == ["connecting", "connected"])
        #expect(run.errors == [])
    }

    @Test func peopleReadWorkspaceEventAndPath_withoutControlCharacters() async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "watch", "plans", "--count", "1"] + soon)
        #expect(await run.waitFor { $0.contains { $0.hasSuffix("  plans  connected  was connecting") } })
        #expect(await eventually { scene.server.webSockets == ["0"] })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a\u{9B}b\u{202E}c"], as: "ada")
        #expect(await run.status() == 0)
        let line = try #require(run.output.last)
        #expect(line.contains("  plans  pydio:node_created  /a\\u{9B}b\u{202E}c"))
    }

    @Test func withoutAWebSocketItIsPolled() async throws {
        let scene = try await PydioScene()
        let run = try scene.run(["pydio", "watch", "plans", "--json", "--count", "1", "--poll-interval", "2"])
        #expect(await run.waitFor { isConnected($0) })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        #expect(await run.status() == 0)
        #expect(events(run).map { $0["path"] as? String } == ["/a"])
    }

    @Test func allWorkspacesAreWatchedUnlessSomeAreNamed() async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "watch", "--json", "--count", "2"] + soon)
        #expect(await run.waitFor { isConnected($0, 3) })
        #expect(await eventually { scene.server.webSockets.compactMap { $0 }.count == 3 })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], in: "0", as: "ada")
        scene.server.act("mkdir", ["dir": "/", "dirname": "b"], in: FakePydioWorkspace.teamID, as: "ada")
        #expect(await run.status() == 0)
        #expect(Set(events(run).compactMap { $0["path"] as? String }) == ["/a", "/b"])
        let unknown = try await scene.pydio("watch", "plans", "nowhere")
        #expect(unknown.status == 65)
        #expect(
            unknown.run.errors == ["error: there is no workspace “nowhere”: pusher-cli pydio workspaces lists them"])
    }

    @Test func aSessionThatIsOverIsInvisible_andTheNewOneIsKept() async throws {
        let scene = try await scene(mode: .v5_2)
        let run = try scene.run(["pydio", "watch", "plans", "--json", "--count", "1"] + soon)
        #expect(await run.waitFor { isConnected($0) })
        #expect(await eventually { scene.server.webSockets == ["0"] })
        scene.server.expireSessions()
        scene.server.dropWebSockets()
        #expect(await eventually { scene.server.count("login") == 2 })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        #expect(await run.status() == 0)
        #expect(events(run).map { $0["path"] as? String } == ["/a"])
        #expect(try await scene.pydio("workspaces").status == 0)
        #expect(scene.server.count("login") == 2)
    }

    // MARK: Ends

    @Test func ctrlCIsStatus0_andATimeoutBeforeTheCountIs75() async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "watch", "plans", "--json"] + soon)
        #expect(await run.waitFor { isConnected($0) })
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.errors == [])
        #expect(scene.kept.contains("keyPair"))  // of the login, for the next command
        #expect(try await scene.pydio("watch", "plans", "--count", "1", "--timeout", "3").status == 75)
        #expect(try await scene.pydio("watch", "plans", "--timeout", "3").status == 0)
    }

    @Test func whoeverIsRefusedIsToldSo() async throws {
        let scene = try await scene(isLoggedIn: false)
        #expect(try await scene.pydio("watch").status == 77)
        try scene.logIn(password: "not at all")
        let wrong = try await scene.pydio("watch", "plans")
        #expect(wrong.status == 77)
        #expect(wrong.run.words.contains("the server refused the login"))
        #expect(!wrong.run.words.contains("not at all"))
        try scene.logIn(to: "http://127.0.0.1:1")
        #expect(try await scene.pydio("watch", "plans").status == 69)
        #expect(try await scene.pydio("watch", "plans", "--poll-interval", "1").status == 64)
    }

    /// A workspace fails, with or without retries. The others continue after the time for connecting.
    @Test(arguments: [true, false])
    func aWorkspaceThatFailsEndsNothingForTheOthers(isTriedAgain: Bool) async throws {
        let scene = try await scene(mode: .v5_2)
        scene.server.setGate { request in
            guard request.parameter("tmp_repository_id") == FakePydioWorkspace.teamID else { return nil }
            return isTriedAgain ? .error("You have no right") : .xml("<tree ><require_auth/></tree>")
        }
        let run = try scene.run(
            ["pydio", "watch", "plans", "team", "--json", "--count", "1", "--connect-timeout", "3"] + soon)
        #expect(await run.waitFor { isConnected($0) && $0.contains { $0.contains(#""type":"error""#) } })
        let isLate = ContinuousClock.now + .seconds(3.5)
        #expect(await eventually { ContinuousClock.now > isLate })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        #expect(await run.status() == 0)
        #expect(events(run).map { $0["path"] as? String } == ["/a"])
    }

    @Test func aServerThatTellsOfNothingIsStatus69() async throws {
        var configuration = FakePydioServer.Configuration()
        (configuration.hasPolling, configuration.hasChanges) = (false, false)
        let scene = try await PydioScene(configuration)
        let (status, run) = try await scene.pydio("watch", "plans", "--json")
        #expect(status == 69)
        #expect(run.objects.contains { $0["type"] as? String == "error" && $0["will_retry"] as? Bool == false })
    }

    @Test func aLoginThatDiesIsStatus77() async throws {
        let scene = try await scene(mode: .v5_2)
        let run = try scene.run(["pydio", "watch", "plans", "--json"] + soon)
        #expect(await run.waitFor { isConnected($0) })
        #expect(await eventually { scene.server.webSockets == ["0"] })
        scene.server.configure { $0.users = [FakePydioUser(id: "ada", password: "another")] }
        scene.server.expireSessions()
        scene.server.dropWebSockets()
        #expect(await run.status() == 77)
        let error = try #require(run.objects.last { $0["type"] as? String == "error" })
        #expect(error["will_retry"] as? Bool == false)
        #expect(!run.words.contains(PydioScene.password))
        // At most once for the poll, and once for the mailbox that a WebSocket had made unnecessary.
        #expect((2...3).contains(scene.server.count("login")))
    }

    @Test func aReaderThatLeavesEndsItQuietly() async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "watch", "plans"], closesOutput: true)
        #expect(await run.status() == 0)
        #expect(run.errors == [])
    }

    // MARK: listen

    @Test func pusherMatrixAndPydioComeInOneStream() async throws {
        let scene = try await scene()
        let matrix = try await MatrixScene()
        matrix.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "old")]))
        // A shared folder of settings.
        try FileManager.default.copyItem(at: matrix.file, to: scene.home.appending(path: "pusher-cli/matrix.json"))
        let pusher = try await PusherMockServer.start()
        let run = try scene.run([
            "listen", "prices", "--matrix", "--pydio", "plans", "--json", "--count", "3", "--no-tls", "--host",
            "127.0.0.1", "--port", "\(pusher.port)", "--key", PusherMockServer.App.defaultKey, "--poll-interval", "2",
        ])
        #expect(
            await run.waitFor { lines in
                isConnected(lines) && lines.contains { $0.contains(#""to":"running""#) }
                    && lines.contains { $0.contains(#""type":"subscribed""#) }
            })
        #expect(await eventually { scene.server.webSockets == ["0"] })
        await pusher.publish(event: "tick", channel: "prices", data: "1")
        #expect(await run.waitFor { $0.contains { $0.contains(#""event":"tick""#) } })
        matrix.bring(MatrixScene.room(timeline: [MatrixScene.message("$1", "hi")]))
        #expect(await run.waitFor { $0.contains { $0.contains(#""event":"m.room.message""#) } })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        #expect(await run.status() == 0)
        let counted = events(run).filter { $0["event_id"] is String || $0["room_id"] == nil }
        #expect(
            counted.map { $0["channel"] as? String } == [
                "prices", "matrix:!r:hs", "pydio:127.0.0.1:\(scene.server.port)/0",
            ])
        await pusher.stop()
    }

    @Test(arguments: [["private-x", "--auth-endpoint"], ["--sign-in", "--user-auth-endpoint"]])
    func whatPusherRefusesEndsNothingForAFeed(refused: [String]) async throws {
        let scene = try await scene()
        let pusher = try await PusherMockServer.start()
        let run = try scene.run(
            ["listen"] + refused + [
                "http://127.0.0.1:1/", "--pydio", "plans", "--json", "--count", "1", "--no-tls", "--host", "127.0.0.1",
                "--port", "\(pusher.port)", "--key", PusherMockServer.App.defaultKey, "--poll-interval", "2",
            ])
        #expect(
            await run.waitFor { lines in isConnected(lines) && lines.contains { $0.contains(#""type":"error""#) } })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        #expect(await run.status() == 0)
        #expect(events(run).map { $0["path"] as? String } == ["/a"])
        await pusher.stop()
    }

    @Test func aServersAddressIsAllOfItsWorkspaces() async throws {
        let scene = try await scene()
        let run = try scene.run([
            "listen", "--pydio", scene.server.address, "--pydio", "plans", "--json", "--count", "1",
        ])
        #expect(await run.waitFor { isConnected($0, 3) })
        #expect(await eventually { scene.server.webSockets.compactMap { $0 }.count == 3 })
        scene.server.act("mkdir", ["dir": "/", "dirname": "a"], in: "0", as: "ada")
        #expect(await run.status() == 0)
        #expect(events(run).count == 1)
    }

    @Test(arguments: [["--pydio-server", "x"], ["--poll-interval", "5"], ["--pydio", "x", "--poll-interval", "1"]])
    func optionsOfPydioGoWithPydio(arguments: [String]) async throws {
        let run = try CommandRun(["listen", "c", "--key", "k"] + arguments)
        #expect(await run.status() == 64)
    }
}
