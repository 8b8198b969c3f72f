import Foundation
import PusherMockServer
import TestSupport
import Testing

/// The shell as a user at a terminal sees it.
@Suite(.overSockets)
struct ShellTerminalTests {
    private struct Scene {
        let server: PusherMockServer
        let folder: URL

        var environment: [String: String] {
            [
                "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
                "PUSHER_APP_ID": PusherMockServer.App.defaultID, "XDG_STATE_HOME": folder.path, "NO_COLOR": "1",
            ]
        }

        var arguments: [String] {
            ["shell", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy", "", "--user-id", "me"]
        }

        func run(columns: Int = 80, _ more: String...) async throws -> TerminalRun {
            let run = try TerminalRun(nil, arguments + more, environment: environment, columns: columns)
            try #require(await run.hasPrompt("pusher> |"))
            try #require(await run.shows("connected"))
            return run
        }
    }

    private func withScene(_ body: (Scene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "shell-\(UUID().uuidString)")
        let server = try await PusherMockServer.start()
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try await body(Scene(server: server, folder: folder))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func anEventLeavesWhatIsTypedAsItIs() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            try run.type("subscribe prices\r")
            #expect(await run.shows("prices  subscribed"))
            #expect(await run.hasPrompt("pusher> |"))
            try run.type("trigger 日本 e\u{301} x\u{1B}[D\u{1B}[D")
            #expect(await run.hasPrompt("pusher> trigger 日本 e\u{301}| x"))
            await scene.server.publish(event: "up", channel: "prices", data: HostileText.short)
            await scene.server.publish(event: HostileText.short, channel: "prices", data: "second")
            #expect(await run.shows("second"))
            #expect(await run.hasPrompt("pusher> trigger 日本 e\u{301}| x"))
            try run.type("\u{7F}y")
            #expect(await run.hasPrompt("pusher> trigger 日本 y| x"))
            #expect(run.screen.strange == [])
            #expect(!run.screen.lines.contains { $0.hasPrefix("2026-01-01") || $0.hasPrefix("forged") })
        }
    }

    @Test func whatIsEnteredIsAnswered() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            try run.type("subscribe presence-room prices\r")
            #expect(await run.shows("presence-room  subscribed  1 member"))
            #expect(await run.shows("prices  subscribed"))
            try run.type("trigger prices up '{\"a\": 1}'\r")
            #expect(await run.shows("prices  up  {\"a\": 1}"))
            #expect(await run.shows("published up on prices"))
            try run.type("trigger presence-room client-x hi\r")
            #expect(await run.shows("sent client-x to presence-room"))
            try run.type("members presence-room\r")
            #expect(await run.shows { $0.lines.contains("me") })
            try run.type("status\r")
            #expect(await run.shows { $0.lines.contains { $0.hasPrefix("ping        ") && $0.hasSuffix(" ms") } })
            try run.type("channels\r")
            #expect(await run.shows { $0.lines.contains("presence-room  subscribed  1 member") })
            try run.type("sign-in\r")
            #expect(await run.shows("signed_in  me"))
            try run.type("unsubscribe prices\r")
            #expect(await run.shows("unsubscribed from prices"))
            try run.type("members prices\r")
            #expect(await run.shows("error: “prices” is not subscribed"))
            try run.type("nonsense\r")
            #expect(await run.shows("error: “nonsense” is not a command; help lists them"))
            try run.type("help trigger\r")
            #expect(await run.shows("trigger CHANNEL EVENT DATA"))
            try run.type("quit\r")
            #expect(await run.status() == 0)
            #expect(await run.shows { !$0.marksPastes })
            #expect(!run.isRaw && run.screen.strange == [])
        }
    }

    @Test func tabCompletes() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            try run.type("su\t")
            #expect(await run.hasPrompt("pusher> subscribe |"))
            try run.type("presence-room private-x\r")
            #expect(await run.shows("presence-room  subscribed"))
            #expect(await run.shows("private-x  subscribed"))
            try run.type("trig\tpres\t")
            #expect(await run.hasPrompt("pusher> trigger presence-room |"))
            await scene.server.publish(event: "price up", channel: "presence-room", data: "1")
            #expect(await run.shows("price up  1"))
            try run.type("pr\t")
            #expect(await run.hasPrompt("pusher> trigger presence-room price\\ up |"))
            try run.type("\u{15}mem\tp\tm\t")
            #expect(await run.hasPrompt("pusher> members presence-room me |"))
            try run.type("\u{15}unsubscribe p\t\t")
            #expect(await run.shows("presence-room  private-x"))
        }
    }

    @Test func linesAreRememberedFromOneShellToTheNext() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            try run.type("channels\r")
            #expect(await run.shows("no channels"))
            try run.type(" help quit\r")
            #expect(await run.shows("Leave; exit and Ctrl-D do the same."))
            try run.type("help status\r")
            #expect(await run.shows("ping the server"))
            try run.type("\u{4}")
            #expect(await run.status() == 0)
            let file = scene.folder.appending(path: "pusher-cli/history")
            #expect(try String(contentsOf: file, encoding: .utf8) == "channels\nhelp status\n")
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let next = try await scene.run()
            try next.type("\u{1B}[A\u{1B}[A")
            #expect(await next.hasPrompt("pusher> channels|"))
            try next.type("\u{3}\u{12}stat")
            #expect(await next.hasPrompt("(search)“stat”: help status|"))
            try next.type("\u{5}")
            #expect(await next.hasPrompt("pusher> help status|"), "\(next.screen.lines)")
        }
    }

    @Test func ctrlCClearsTheLineAndThenLeaves() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            try run.type("some text\u{3}")
            #expect(await run.shows("pusher> some text^C"))
            #expect(await run.hasPrompt("pusher> |"))
            try run.type("\u{3}")
            #expect(await run.shows("Press Ctrl-C again to leave."))
            #expect(run.isRaw)
            try run.type("\u{3}")
            #expect(await run.status() == 0)
            #expect(!run.isRaw)
        }
    }

    @Test func aPasteRunsNothing() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            #expect(run.screen.marksPastes)
            try run.type("\u{1B}[200~help\nquit\n\u{1B}[201~")
            #expect(await run.hasPrompt("pusher> help quit|"))
            try run.type("\r")
            #expect(await run.shows("Leave; exit and Ctrl-D do the same."))
        }
    }

    @Test func aLongLineScrollsAndFollowsTheTerminalsWidth() async throws {
        try await withScene { scene in
            let run = try await scene.run(columns: 30)
            try run.type(String(repeating: "0123456789", count: 4))
            #expect(await run.hasPrompt("pusher> 901234567890123456789|"))
            try run.type("\u{1}")
            #expect(await run.hasPrompt("pusher> |012345678901234567890"))
            run.resize(60)
            #expect(await run.hasPrompt("pusher> |" + String(repeating: "0123456789", count: 4)))
            run.resize(20)
            #expect(await run.hasPrompt("pusher> |01234567890"))
        }
    }

    @Test func aServerThatComesBackIsFoundAgain() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            try run.type("subscribe prices\r")
            #expect(await run.shows("prices  subscribed"))
            try run.type("trigger")
            await scene.server.stop()
            #expect(await run.shows("reconnecting"))
            #expect(await run.hasPrompt("pusher> trigger|"))
            let second = try await PusherMockServer.start(scene.server.configuration)
            #expect(await run.shows { $0.lines.count { $0.contains("prices  subscribed") } == 2 })
            await second.publish(event: "back", channel: "prices", data: "again")
            #expect(await run.shows("prices  back  again"))
            #expect(await run.hasPrompt("pusher> trigger|"))
            await second.stop()
        }
    }

    @Test func aPoliteKillRestoresTheTerminal() async throws {
        try await withScene { scene in
            let run = try await scene.run()
            #expect(run.isRaw)
            run.signal(SIGTERM)
            #expect(await run.status() == 0)
            #expect(await run.shows { !$0.marksPastes })
            #expect(!run.isRaw)
        }
    }

    @Test func ctrlZGivesTheTerminalBack() async throws {
        try await withScene { scene in
            let shell = try TerminalRun(
                "bash", ["--norc", "--noprofile", "--noediting", "-i"],
                environment: scene.environment.merging(["PS1": "bash: "]) { $1 })
            #expect(await shell.shows("bash:"))
            let line = ([CommandRun.executable.path] + scene.arguments).map { "'\($0)'" }.joined(separator: " ")
            try shell.type(line + "\n")
            #expect(await shell.hasPrompt("pusher> |"))
            try shell.type("half a l")
            #expect(await shell.hasPrompt("pusher> half a l|"))
            try shell.type("\u{1A}")
            #expect(await shell.shows("Stopped"))
            #expect(await eventually { !shell.isRaw })
            #expect(!shell.screen.marksPastes)
            try shell.type("fg\n")
            #expect(await shell.hasPrompt("pusher> half a l|"))
            #expect(shell.isRaw)
            try shell.type("\u{3}\u{4}")
            #expect(await eventually { !shell.isRaw })
            try shell.type("exit\n")
            #expect(await shell.status() == 0)
        }
    }
}
