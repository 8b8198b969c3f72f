import Foundation
import JSONBytes
import MatrixTestSupport
import PusherMockServer
import TestSupport
import Testing

/// Commands that take the whole screen.
@Suite(.overSockets)
struct ScreenCommandTests {
    /// Whether the terminal is back in its original state.
    func hasLeft(_ run: TerminalRun) async -> Bool {
        await run.shows { !$0.modes.contains(1049) && $0.modes.isSuperset(of: [7, 25]) && !$0.modes.contains(2004) }
            && !run.isRaw
    }

    // MARK: chat

    func chat(
        _ scene: MatrixScene, _ arguments: String..., columns: Int = 110, environment: [String: String] = [:],
        isRead: Bool = true
    ) throws -> TerminalRun {
        try TerminalRun(
            nil, ["matrix", "chat"] + arguments,
            environment: [
                "XDG_CONFIG_HOME": scene.home.path, "XDG_DATA_HOME": scene.data.path, "HOME": scene.home.path,
                "TERM": "xterm-256color",
            ].merging(environment) { $1 }, columns: columns, isRead: isRead)
    }

    @Test func messagesComeAndGo() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "before")]))
        let run = try chat(scene)
        #expect(await run.shows("before"))
        #expect(await run.shows { $0.lines.contains { $0.hasPrefix("Lobby") } })
        #expect(run.screen.modes.isSuperset(of: [1049, 2004]))
        #expect(await eventually { scene.server.requests("GET", "v3/sync").count > 1 })
        scene.bring(MatrixScene.room(timeline: [MatrixScene.message("$1", "while looking \\u001b[31m\\u202e")]))
        #expect(await run.shows("while looking"))
        try run.type("to the **room**\r")
        #expect(await scene.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*"))
        #expect(await run.shows { $0.lines.contains { $0.contains("to the room") } })
        #expect(run.screen.strange == [])
        try run.type("\u{3}\u{3}")
        #expect(await run.status() == 0)
        #expect(await hasLeft(run))
    }

    @Test func whatIsStoredIsThereWithoutTheServer() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "before")]))
        let first = try chat(scene)
        #expect(await first.shows("before"))
        #expect(await eventually { scene.server.requests("GET", "v3/sync").count > 1 })
        first.signal(SIGTERM)
        #expect(await first.status() == 0)
        #expect(await hasLeft(first))
        scene.server.dropConnections()
        await scene.server.stop()
        let second = try chat(scene, "Lobby")
        #expect(await second.shows("before"))
        #expect(await second.shows("cannot be reached"))
        try second.type("written meanwhile\r")
        #expect(await second.shows("written meanwhile"))
        second.signal(SIGTERM)
        #expect(await second.status() == 0)
    }

    @Test func whatWasNotSentIsThereTheNextTime_andGoneWithTheLogin() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "before")]))
        scene.server.on("POST", "v3/logout", .ok)
        let first = try chat(scene)
        #expect(await first.shows("before"))
        try first.type("half a thought")
        #expect(await first.shows("half a thought"))
        first.signal(SIGTERM)
        #expect(await first.status() == 0)
        let second = try chat(scene)
        #expect(await second.shows("half a thought"))
        second.signal(SIGTERM)
        #expect(await second.status() == 0)
        let file = scene.home.appending(path: ".local/state/pusher-cli/matrix-drafts.json")
        #expect(try scene.mode(of: file) == 0o600)
        #expect(try await scene.matrix("logout").status == 0)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func aWindowMayBecomeSmallAndLargeAgain() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "before")]))
        let run = try chat(scene)
        #expect(await run.shows("before"))
        for columns in [40, 10, 70, 200, 110] { run.resize(columns) }
        #expect(await run.shows { $0.lines.contains { $0.hasPrefix("Lobby") && $0.contains("│") } })
        #expect(await run.shows("before"))
        try run.type("/nonsense\r")
        #expect(await run.shows("There is no command /nonsense."))
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        try run.type("\u{3}\u{3}")
        #expect(await run.status() == 0)
    }

    @Test func withoutATerminalMessagesAreLines() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "before")]))
        let run = try scene.run(["matrix", "chat", "Lobby"], input: "one\n\n/part\ntwo\n")
        #expect(await run.status() == 0)
        #expect(run.output.contains { $0.hasSuffix("Bob: before") }, "\(run.output) \(run.errors)")
        #expect(run.errors.contains { $0.hasPrefix("error: commands need the screen: /part was not sent") })
        let sent = scene.server.requests("PUT", "v3/rooms/*/send/*/*").compactMap { $0.json?["body"]?.string }
        #expect(sent == ["one", "two"])
        let nowhere = try scene.run(["matrix", "chat"])
        #expect(await nowhere.status() == 64)
    }

    @Test func aPlainChatSaysWhatChanges() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "before")]))
        let run = try TerminalRun(
            nil, ["matrix", "chat", "--plain", "Lobby"],
            environment: [
                "XDG_CONFIG_HOME": scene.home.path, "XDG_DATA_HOME": scene.data.path, "HOME": scene.home.path,
            ])
        #expect(await run.shows("Bob: before"))
        #expect(await eventually { scene.server.requests("GET", "v3/sync").count > 1 })
        scene.bring(
            MatrixScene.room(timeline: [
                #"""
                {"type":"m.room.message","event_id":"$edit","sender":"@bob:hs","origin_server_ts":2,"content":{
                "msgtype":"m.text","body":"* after","m.new_content":{"msgtype":"m.text","body":"after"},
                "m.relates_to":{"rel_type":"m.replace","event_id":"$old"}}}
                """#
            ]))
        #expect(await run.shows("(changed) Bob: after"))
        run.signal(SIGTERM)
        #expect(await run.status() == 0)
    }

    // MARK: listen --ui

    private func watch(
        _ server: PusherMockServer, _ more: String..., columns: Int = 100, isRead: Bool = true
    ) throws -> TerminalRun {
        try TerminalRun(
            nil,
            [
                "listen", "prices", "presence-room", "--ui", "--no-tls", "--host", "127.0.0.1", "--port",
                "\(server.port)",
                "--proxy", "",
            ] + more,
            environment: [
                "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_KEY": PusherMockServer.App.defaultKey,
                "PUSHER_SECRET": PusherMockServer.App.defaultSecret, "TERM": "xterm-256color",
            ], columns: columns, isRead: isRead)
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func aSignalEndsIt(number: Int32) async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        run.signal(number)
        #expect(await run.status() == 0)
        #expect(await hasLeft(run))
        await server.stop()
    }

    @Test(arguments: [SIGTERM, SIGQUIT]) func aTerminalThatNobodyReadsKeepsNobody(number: Int32) async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server, isRead: false)
        await endsUnread(run, by: number)
        await server.stop()
    }

    /// It ends even though its output is not read.
    func endsUnread(_ run: TerminalRun, by number: Int32) async {
        // Each size causes a new frame.
        #expect(
            await eventually {
                run.resize(Int.random(in: 60...160))
                return run.isFull
            })
        let start = ContinuousClock.now
        run.signal(number)
        _ = await run.status()
        #expect(start.duration(to: .now) < .seconds(6))
        #expect(!run.isRaw)
    }

    @Test func aStopTheProgramDoesNotNoticeGivesTheScreenBackAfterwards() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        run.signal(SIGSTOP)
        run.disturb("\u{1B}[?1049l\u{1B}[?2004l")
        #expect(await run.shows { !$0.modes.contains(1049) })
        run.signal(SIGCONT)
        #expect(await run.shows { $0.modes.isSuperset(of: [1049, 2004]) })
        #expect(await run.shows("prices  subscribed"))
        #expect(run.isRaw)
        try run.type("q")
        #expect(await run.status() == 0)
        await server.stop()
    }

    @Test func anOrderToQuitLeavesTheTerminalAsItWas() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        run.signal(SIGQUIT)
        _ = await run.status()
        #expect(await hasLeft(run))
        await server.stop()
    }

    @Test func whatIsLoggedDoesNotGoOverTheScreen() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server, "--verbose")
        #expect(await run.shows("prices  subscribed"))
        await server.publish(event: "tick", channel: "prices", data: "1")
        #expect(await run.shows("prices  tick  1"))
        #expect(!run.screen.lines.contains { $0.contains(" debug ") })
        try run.type("q")
        #expect(await run.status() == 0)
        await server.stop()
    }

    @Test func eventsAreFilteredPausedReadAndTriggered() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        #expect(await run.shows("presence-room  subscribed"))
        await server.publish(event: "tick", channel: "prices", data: #"{"price":1}"#)
        await server.publish(event: "tock", channel: "prices", data: HostileText.short)
        #expect(await run.shows { $0.lines.contains { $0.contains(#"prices  tick  {"price":1}"#) } })
        #expect(await run.shows("prices  tock"))
        try run.type("/tick\r")
        #expect(
            await run.shows { !$0.lines.contains { $0.contains("tock") } && $0.lines.contains { $0.contains("tick") } })
        try run.type("\u{1B}[A\r")
        #expect(await run.shows("\"price\": 1"))
        try run.type("q")
        #expect(await run.shows("filter: tick"))
        try run.type(" ")
        #expect(await run.shows("paused"))
        await server.publish(event: "tick", channel: "prices", data: "2")
        #expect(await run.shows("paused, 1 more"))
        try run.type(" ")
        #expect(await run.shows("prices  tick  2"))
        try run.type("tprices tick by-hand\r")
        #expect(await run.shows("prices  tick  by-hand"))
        #expect(run.screen.strange == [])
        try run.type("q")
        #expect(await run.status() == 0)
        #expect(await hasLeft(run))
        await server.stop()
    }

    @Test func jsonIsShownAsItWasSent() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        await server.publish(
            event: "tick", channel: "prices", data: #"{"z":12345678901234567890.10,"a":[],"s":"{\"x\":1}"}"#)
        #expect(await run.shows("prices  tick"))
        try run.type("\u{1B}[A\r")
        #expect(await run.shows { $0.lines.contains("{") && $0.lines.contains("  \"z\": 12345678901234567890.10,") })
        #expect(await run.shows { $0.lines.contains("  \"a\": [],") })
        #expect(await run.shows { $0.lines.contains(#"  "s": "{\"x\":1}""#) })
        try run.type("q")
        #expect(await run.shows("? help"))
        try run.type("q")
        #expect(await run.status() == 0)
        await server.stop()
    }

    @Test func ratesMoveWhileNothingComes() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        // On a busy machine the screen may skip a second.
        let isShown = await eventually {
            await server.publish(event: "tick", channel: "prices", data: "1")
            return run.screen.lines.contains { $0.contains("█│") }
        }
        #expect(isShown)
        #expect(await run.shows { $0.lines.contains { $0.contains(/█ {2,}│/) } })
        try run.type("q")
        #expect(await run.status() == 0)
        await server.stop()
    }

    @Test func aFloodIsShownAndEndsInTime() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server)
        #expect(await run.shows("prices  subscribed"))
        for number in 1...5000 { await server.publish(event: "tick", channel: "prices", data: "\(number)") }
        #expect(await run.shows("prices  tick  5000"))
        try run.type("q")
        #expect(await run.status() == 0)
        await server.stop()
    }

    @Test func aRefusedKeyIsSaidAfterTheScreenIsGone() async throws {
        let server = try await PusherMockServer.start()
        let run = try watch(server, "--key", "other", "--secret", "s")
        let status = await run.status()
        #expect(status == 77, "\(run.screen.lines)")
        #expect(await hasLeft(run))
        await server.stop()
    }

    @Test func withoutATerminalItSaysSo() async throws {
        let run = try CommandRun(["listen", "prices", "--ui", "--key", "k"])
        #expect(await run.status() == 64)
        #expect(run.errors == ["error: --ui needs a terminal: without it, events are printed line by line"])
        let both = try CommandRun(["listen", "prices", "--ui", "--json", "--key", "k"])
        #expect(await both.status() == 64)
    }
}
