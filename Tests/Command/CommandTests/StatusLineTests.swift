import Foundation
import MatrixTestSupport
import PusherMockServer
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// The line at a terminal that tells users what the command is waiting for.
@Suite(.overSockets)
struct StatusLineTests {
    /// Accepts connections, and never sends anything.
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
        #expect(run.screen.lines.last == "Waiting 2 s for the an…")
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

    @Test(
        arguments: CommandLines.ofMatrix.map { ["matrix"] + $0 } + CommandLines.ofPydio.map { ["pydio"] + $0 } + [
            ["listen", "--matrix"], ["listen", "--pydio", "plans"], ["pydio", "sync", "FOLDER", "plans:", "--watch"],
        ])
    func whatMatrixAndPydioAreAskedForIsWaitedFor(line: [String]) async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "waits-\(UUID())")
        defer { try? FileManager.default.removeItem(at: home) }
        let server = "127.0.0.1:\(silent.port)"
        let isLogin = line.contains("login")
        if !isLogin {
            try Self.keep(
                #"{"homeServer":"http://\#(server)","userId":"@a:b","accessToken":"t","deviceId":"D","accessTokenExpiresAt":0}"#,
                as: "matrix.json", in: home)
        }
        try Self.keep(
            #"{"logins":[{"server":"http://\#(server)","user":"ada","deviceID":"d","password":"p","cookies":[{"name":"AjaXplorer","value":"s"}]}]}"#,
            as: "pydio.json", in: home)
        let places = [
            CommandLines.server: "http://\(server)", CommandLines.file: #filePath, CommandLines.folder: home.path,
        ]
        let run = try TerminalRun(
            nil, line.map { places[$0] ?? $0 } + ["--proxy", ""], environment: ["XDG_CONFIG_HOME": home.path])
        if line.contains("--password-stdin") {
            try run.type(line.contains("passwd") ? "old\nnew\n\u{4}" : "secret\n\u{4}")
        }
        #expect(await run.waits(for: "the answer of \(server)"))
        run.signal(SIGTERM)
        #expect(await run.status() == 130)
        let words = "error: interrupted before it was done"
        #expect(await run.shows { !$0.lines.contains { $0.contains("Waiting") } && $0.lines.contains(words) })
        #expect(run.screen.lines.count { $0.hasPrefix("error: ") } == 1)
    }

    @Test func passwordsAreAskedForAndThenTheServerIsWaitedFor() async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "waits-\(UUID())")
        defer { try? FileManager.default.removeItem(at: home) }
        let run = try TerminalRun(
            nil, ["pydio", "login", "http://127.0.0.1:\(silent.port)", "--user", "ada", "--proxy", ""],
            environment: ["XDG_CONFIG_HOME": home.path])
        #expect(await run.shows("Password of ada:"))
        try run.type("secret\r")
        #expect(await run.waits(for: "the answer of 127.0.0.1:\(silent.port)"))
        run.signal(SIGTERM)
        #expect(await run.status() == 130)
    }

    /// Progress replaces the line of a wait, which continues afterwards.
    @Test func afterATransferTheServerIsWaitedForAgain() async throws {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v1/media/config", .json(#"{"m.upload.size":1000000}"#))
        scene.server.on("POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://hs/1"}"#))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .silence)
        let run = try TerminalRun(
            nil, ["matrix", "upload", #filePath, "--room", "!r:hs", "--proxy", ""],
            environment: ["XDG_CONFIG_HOME": scene.home.path])
        #expect(await run.shows("mxc://hs/1"))
        #expect(await run.waits(for: "the answer of 127.0.0.1"))
        run.signal(SIGTERM)
        #expect(await run.status() == 130)
    }

    /// The reader of the output may own the terminal, like `less`.
    @Test func nothingIsDrawnWhileAReaderIsSlow() async throws {
        let scene = try await PydioScene()
        // More than a pipe can hold.
        for number in 0..<3000 { try scene.server.addFile("/a long name of a file, \(number)", []) }
        let run = try TerminalRun(
            "sh",
            [
                "-c",
                #""$0" pydio ls plans: --proxy '' | { head -c 1 > /dev/null; echo begun; read line < /dev/tty; }"#,
                CommandRun.executable.path,
            ], environment: scene.environment)
        #expect(await run.shows("begun"))
        // It has been slow for longer than another command that reports a wait.
        let other = try self.run(["trigger", "a", "e", "x"])
        #expect(await other.shows("Waiting 2 s"))
        #expect(run.screen.lines.filter { !$0.isEmpty } == ["begun"])
        await scene.server.stop()
    }

    /// Another login of the same account has its turn first.
    @Test func anotherCommandsLoginIsTheReason() async throws {
        let scene = try await PydioScene()
        let line = ["pydio", "workspaces", "--proxy", ""]
        #expect(await (try scene.run(line)).status() == 0)
        let lock = try scene.takeLoginTurn()
        defer { close(lock) }
        scene.server.expireSessions()
        let run = try TerminalRun(nil, line, environment: scene.environment, columns: 120)
        #expect(await run.shows("(another command is logging in as ada)"), "\(run.screen.lines)")
        flock(lock, LOCK_UN)
        #expect(await run.status() == 0)
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

    /// The time limit ends when the line would be redrawn.
    @Test func nothingIsDrawnAfterTheError() async throws {
        let run = try run(["trigger", "a", "e", "x", "--timeout", "2"], columns: 200)
        #expect(await run.waits(for: "the answer of 127.0.0.1:\(silent.port)"))
        #expect(await run.status() == 69)
        #expect(await run.shows { $0.lines.contains { $0.hasPrefix("error: ") } })
        #expect(!run.screen.lines.contains { $0.contains("Waiting") })
    }

    @Test(arguments: [
        ["trigger", "a", "e", "-"], ["trigger", "--lines", "a", "e"], ["client-event", "private-a", "client-e", "-"],
        ["client-event", "--lines", "private-a", "client-e"],
    ])
    func whatIsTypedIsNotWrittenOver(arguments: [String]) async throws {
        let run = try run(arguments)
        #expect(await run.shows("publishing to"))
        try run.type("hello")
        // It has waited for longer than another command that reports a wait.
        let other = try self.run(["trigger", "a", "e", "x"])
        #expect(await other.shows("Waiting 2 s"))
        #expect(run.screen.lines.dropFirst() == ["hello"], "\(run.screen.lines)")
    }
}

extension TerminalRun {
    /// Whether the line of a wait is drawn, with any number of seconds: a busy machine may skip some.
    fileprivate func waits(for what: String) async -> Bool {
        await shows { $0.lines.contains { $0.hasPrefix("Waiting ") && $0.contains(" s for \(what)") } }
    }
}
