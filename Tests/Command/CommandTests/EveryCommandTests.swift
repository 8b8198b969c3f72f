import Foundation
import MatrixTestSupport
import PydioTestSupport
import TestSupport
import Testing

@testable import ArgumentParser
@testable import CommandKit
@testable import MatrixCommands
@testable import PydioCommands
@testable import pusher_cli

/// Properties of every command.
@Suite(.overSockets)
struct EveryCommandTests {
    private static let full = "error: standard output cannot be written: No space left on device"

    /// Every command, without groups of subcommands.
    private static let commands = CommandLines.names(of: PusherCommand.self)

    @Test(arguments: commands)
    func everyCommandHasTheSameStatuses(command: [String]) async throws {
        let help = try CommandRun(command + ["--help"])
        #expect(await help.status() == 0)
        #expect(help.output.contains { $0.hasPrefix("USAGE: pusher-cli \(command.joined(separator: " "))") })
        let full = try CommandRun(command + ["--help"], outputFile: "/dev/full")
        #expect(await full.status() == 74)
        #expect(full.errors == [Self.full])
        let wrong = try CommandRun(command + ["--nonsense"])
        #expect(await wrong.status() == 64)
        #expect(wrong.errors.first?.hasPrefix("error: ") == true)
        #expect(wrong.errors.count <= 2)
    }

    /// A line that wraps cannot be pasted.
    @Test func examplesFitATerminalOf80Columns() {
        func check(_ command: any ParsableCommand.Type) {
            for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix("  pusher-cli") {
                #expect(line.count <= 80, "\(line)")
            }
            command.configuration.subcommands.forEach(check)
        }
        check(PusherCommand.self)
    }

    /// ArgumentParser checks this in debug builds, but pusher-cli is linked without those checks: see Package.swift.
    @Test func everyCommandDeclaresItsArgumentsWell() {
        let validators: [any ParsableArgumentsValidator.Type] = [
            PositionalArgumentsValidator.self, CodingKeyValidator.self, UniqueNamesValidator.self,
            NonsenseFlagsValidator.self, AsyncCompletionsValidator.self,
        ]
        func check(_ command: any ParsableCommand.Type) {
            for validator in validators {
                let error = validator.validate(command, parent: nil)
                #expect(error == nil, "\(command)")
            }
            command.configuration.subcommands.forEach(check)
        }
        check(PusherCommand.self)
    }

    /// A name derived from the type searches all of the program's conformances at each start.
    @Test func everyCommandHasItsNameWritten() {
        func check(_ command: any ParsableCommand.Type) {
            #expect(command.configuration.commandName != nil, "\(command)")
            command.configuration.subcommands.forEach(check)
        }
        check(PusherCommand.self)
    }

    /// Covers all of them, so that a new command cannot be forgotten.
    @Test func everyCommandOfMatrixAndPydioHasALine() {
        // They contact no server, need another client of the user, or write a file.
        let others: Set = [
            ["chat"], ["push-gateway"], ["verify"], ["keys", "import"], ["keys", "export"], ["keys", "backup"],
            ["keys", "restore"],
            ["recovery", "status"], ["recovery", "create"], ["recovery", "use"],
        ]
        let ofMatrix = Set(CommandLines.names(of: MatrixCommand.self)).subtracting(others)
        #expect(Set(CommandLines.ofMatrix.map(CommandLines.name)) == ofMatrix)
        #expect(Set(CommandLines.ofPydio.map(CommandLines.name)) == Set(CommandLines.names(of: PydioCommand.self)))
    }

    // MARK: Output that cannot be written

    private static let silentOfMatrix: Set = ["logout", "leave", "invite", "kick", "ban", "unban"]
    private static let endless: Set = ["listen", "watch"]

    @Test(arguments: CommandLines.ofMatrix)
    func whatMatrixCommandsPrintCannotBeLost(line: [String]) async throws {
        let isSilent = Self.silentOfMatrix.contains(line[0])
        if !Self.endless.contains(line[0]) {
            let run = try await runMatrix(line)
            #expect(await run.status() == 0, "\(run.errors)")
            #expect(run.output.isEmpty == isSilent)
        }
        let full = try await runMatrix(line, outputFile: "/dev/full")
        #expect(await full.status() == (isSilent ? 0 : 74))
        #expect(full.errors.contains(Self.full) != isSilent)
    }

    @Test(arguments: CommandLines.ofPydio)
    func whatPydioCommandsPrintCannotBeLost(line: [String]) async throws {
        // Many change something, and report it only in JSON.
        var isSilent = false
        if !Self.endless.contains(line[0]) {
            let run = try await runPydio(line)
            #expect(await run.status() == 0, "\(run.errors)")
            isSilent = run.output.isEmpty
        }
        let full = try await runPydio(line, outputFile: "/dev/full")
        #expect(await full.status() == (isSilent ? 0 : 74))
        #expect(full.errors.contains(Self.full) != isSilent)
    }

    /// Runs a command in a room with a member, a message and a receipt.
    private func runMatrix(_ line: [String], outputFile: String? = nil) async throws -> CommandRun {
        let isLogin = line[0] == "login"
        let scene = try await MatrixScene(isLoggedIn: !isLogin)
        let receipts =
            #","ephemeral":{"events":[{"type":"m.receipt","content":{"$1":{"m.read":{"@bob:hs":{"ts":1700000060000}}}}}]}"#
        scene.syncsBegin(MatrixScene.room(name: "Lobby", more: receipts))
        let message = MatrixScene.message("$1", "hi")
        let answers: [(String, String, String)] = [
            ("GET", "v3/login", #"{"flows":[{"type":"m.login.password"}]}"#),
            ("POST", "v3/login", #"{"user_id":"@ada:hs","device_id":"D","access_token":"t"}"#),
            ("POST", "v3/logout", "{}"), ("POST", "v3/createRoom", #"{"room_id":"!n:hs"}"#),
            ("POST", "v3/join/*", #"{"room_id":"!r:hs"}"#), ("POST", "v3/rooms/*/*", "{}"),
            ("GET", "v3/rooms/*/messages", #"{"start":"a","chunk":[\#(message)]}"#),
            ("GET", "v3/rooms/*/joined_members", #"{"joined":{}}"#),
            ("GET", "v3/rooms/*/members", #"{"chunk":[\#(MatrixScene.member("@bob:hs", "Bob"))]}"#),
            ("GET", "v3/rooms/*/state/m.room.create", #"{"creator":"@ada:hs"}"#),
            ("GET", "v3/rooms/*/state/m.room.power_levels", "{}"),
            ("GET", "v3/rooms/*/state/m.room.topic", #"{"topic":"plans"}"#),
            (
                "POST", "v3/search",
                #"{"search_categories":{"room_events":{"count":1,"results":[{"result":\#(message)}]}}}"#
            ),
            ("GET", "v1/media/config", "{}"), ("POST", "/_matrix/media/v3/upload", #"{"content_uri":"mxc://hs/1"}"#),
            ("GET", "v1/media/download/hs/1", "content"), ("GET", "v3/devices", #"{"devices":[{"device_id":"D"}]}"#),
            ("GET", "v3/pushrules", #"{"global":{"override":[{"rule_id":"r","enabled":true,"actions":[]}]}}"#),
            ("GET", "v3/pushrules/", #"{"global":{"override":[{"rule_id":"r","enabled":true,"actions":[]}]}}"#),
        ]
        for (method, path, body) in answers { scene.server.on(method, path, .json(body)) }
        let run = try run("matrix", line, at: scene.server.address, in: scene.home, outputFile)
        _ = await run.status()
        return run
    }

    /// Runs a command as an administrator, in workspaces with everything that the lines use.
    private func runPydio(_ line: [String], outputFile: String? = nil) async throws -> CommandRun {
        let scene = try await PydioScene(
            FakePydioServer.Configuration(
                mode: line[0] == "api" ? .v8 : .v5_2,
                users: [
                    FakePydioUser(id: "ada", password: PydioScene.password, isAdministrator: true),
                    FakePydioUser(id: "carol", password: "a password of carol"),
                ]))
        for name in ["a.txt", "b.txt", "e.txt", "recycle_bin/old.txt"] {
            try scene.server.addFile("/" + name, Array("hello".utf8))
        }
        scene.server.addFolder("/docs")
        try scene.server.addFile("/docs/b.txt", Array("world".utf8))
        for (first, before) in [
            ("restore", ["rm", "plans:/a.txt"]), ("extract", ["compress", "plans:/a.txt", "plans:/a.zip"]),
            ("unshare", ["share", "plans:/a.txt"]), ("links", ["share", "plans:/a.txt"]),
            ("unlock", ["lock", "plans:/a.txt"]), ("bookmarks", ["bookmarks", "--add", "plans:/a.txt"]),
            ("comments", ["comments", "plans:/a.txt", "--add", "x"]),
        ] where line[0] == first {
            #expect(await (try scene.run(["pydio"] + before)).status() == 0)
        }
        let run = try run("pydio", line, at: scene.server.address, in: scene.home, outputFile)
        _ = await run.status()
        await scene.server.stop()
        return run
    }

    private func run(
        _ group: String, _ line: [String], at server: String, in home: URL, _ outputFile: String?
    ) throws -> CommandRun {
        let places = [
            CommandLines.server: server, CommandLines.file: #filePath,
            CommandLines.folder: home.appending(path: "files").path,
        ]
        let input = line[0] == "passwd" ? PydioScene.password + "\na new password\n" : PydioScene.password + "\n"
        return try CommandRun(
            [group] + line.map { places[$0] ?? $0 }, environment: ["XDG_CONFIG_HOME": home.path], input: input,
            outputFile: outputFile)
    }
}
