import Foundation
import PusherMockServer
import PydioTestSupport
import TestSupport
import Testing

/// What somebody at a terminal is told to wait for.
@Suite(.overSockets)
struct StatusLineTests {
    /// Takes connections, and never says a word.
    private let silent = SocketServer { peer in
        while !peer.read().isEmpty {}
    }

    private func run(_ arguments: [String], columns: Int = 80) throws -> TerminalRun {
        try TerminalRun(
            nil, arguments + ["--no-tls", "--host", "127.0.0.1", "--port", "\(silent.port)"],
            environment: [
                "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
                "PUSHER_APP_ID": PusherMockServer.App.defaultID,
            ], columns: columns)
    }

    @Test func aNarrowTerminalKeepsItInOneRow() async throws {
        let run = try run(["trigger", "a", "e", "x"], columns: 24)
        #expect(await run.shows("Waiting 2 s for the an…"))
        #expect(run.screen.lines == ["Waiting 2 s for the an…"])
        run.signal(SIGTERM)
        #expect(await run.status() == 130)
        #expect(await run.shows { !$0.lines.contains { $0.contains("Waiting") } })
    }

    @Test func aSubscriptionIsWaitedFor() async throws {
        let server = try await PusherMockServer.start()
        await server.injectIntoNewConnections(.goSilent)
        let run = try TerminalRun(
            nil,
            [
                "subscribe", "prices", "--key", PusherMockServer.App.defaultKey, "--host", "127.0.0.1:\(server.port)",
                "--no-tls",
            ], environment: [:], columns: 80)
        #expect(await run.waits(for: "the subscription of prices"))
        run.signal(SIGINT)
        #expect(await run.status() == 130)
        await server.stop()
    }

    @Test func matrixIsWaitedFor() async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "waits-\(UUID())")
        defer { try? FileManager.default.removeItem(at: home) }
        try Self.keep(
            #"{"homeServer":"http://127.0.0.1:\#(silent.port)","userId":"@a:b","accessToken":"t","deviceId":"D","accessTokenExpiresAt":0}"#,
            as: "matrix.json", in: home)
        for command in [["rooms"], ["members", "!r:b"], ["send", "!r:b", "x"], ["topic", "!r:b"]] {
            let run = try TerminalRun(
                nil, ["matrix"] + command + ["--proxy", ""], environment: ["XDG_CONFIG_HOME": home.path])
            #expect(await run.waits(for: "the answer of 127.0.0.1"), "\(command)")
            run.signal(SIGTERM)
            #expect(await run.status() == 130)
            #expect(await run.shows { !$0.lines.contains { $0.contains("Waiting") } })
        }
    }

    @Test func logInsAreWaitedFor() async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "waits-\(UUID())")
        defer { try? FileManager.default.removeItem(at: home) }
        let server = "http://127.0.0.1:\(silent.port)"
        for (command, isAsked) in [(["matrix", "login"], false), (["pydio", "login"], true)] {
            let run = try TerminalRun(
                nil, command + [server, "--user", "ada", "--proxy", ""], environment: ["XDG_CONFIG_HOME": home.path])
            if isAsked {
                #expect(await run.shows("Password of ada:"))
                try run.type("secret\r")
            }
            #expect(await run.waits(for: "the answer of 127.0.0.1"), "\(command)")
            run.signal(SIGTERM)
            #expect(await run.status() == 130)
        }
    }

    @Test func pydioIsWaitedFor() async throws {
        let scene = try await PydioScene()
        scene.server.inject(.silence, times: nil)
        for command in [["workspaces"], ["ls", "plans:"], ["rm", "plans:/a", "--force"]] {
            let run = try TerminalRun(nil, ["pydio"] + command + ["--proxy", ""], environment: scene.environment)
            #expect(await run.waits(for: "the answer of"), "\(command)")
            run.signal(SIGTERM)
            #expect(await run.status() == 130)
            #expect(await run.shows { !$0.lines.contains { $0.contains("Waiting") } })
        }
        await scene.server.stop()
    }

    private static func keep(_ json: String, as name: String, in home: URL) throws {
        let folder = home.appending(path: "pusher-cli")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        #expect(
            FileManager.default.createFile(
                atPath: folder.appending(path: name).path, contents: Data(json.utf8),
                attributes: [.posixPermissions: 0o600]))
    }

    /// The time is up when the line would be drawn again.
    @Test func nothingIsDrawnAfterTheError() async throws {
        let run = try run(["trigger", "a", "e", "x", "--timeout", "2"], columns: 200)
        #expect(await run.waits(for: "the answer of 127.0.0.1:\(silent.port)"))
        #expect(await run.status() == 69)
        #expect(await run.shows { $0.lines.first?.hasPrefix("error: ") == true })
        #expect(!run.screen.lines.contains { $0.contains("Waiting") })
    }

    @Test(arguments: [
        ["trigger", "a", "e", "-"], ["trigger", "--lines", "a", "e"], ["client-event", "private-a", "client-e", "-"],
        ["client-event", "--lines", "private-a", "client-e"],
    ])
    func whatIsTypedIsNotWrittenOver(arguments: [String]) async throws {
        let run = try run(arguments)
        try run.type("hello")
        // It has waited for longer than one that says so.
        let other = try self.run(["trigger", "a", "e", "x"])
        #expect(await other.shows("Waiting 2 s"))
        #expect(run.screen.lines == ["hello"])
    }
}

extension TerminalRun {
    /// Whether the line of a wait is drawn, however many seconds it tells: a busy machine may skip some.
    fileprivate func waits(for what: String) async -> Bool {
        await shows { $0.lines.contains { $0.hasPrefix("Waiting ") && $0.contains(" s for \(what)") } }
    }
}
