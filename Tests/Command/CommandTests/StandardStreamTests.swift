import Foundation
import PusherMockServer
import PydioTestSupport
import TestSupport
import Testing

/// Commands whose output cannot be written.
@Suite(.overSockets)
struct StandardStreamTests {
    private static let full = "error: standard output cannot be written: No space left on device"

    @Test(arguments: [
        ["workspaces"], ["ls", "plans:"], ["ls", "plans:", "--json"], ["get", "plans:/a.txt", "-"],
        ["mkdir", "plans:/d", "--json"], ["watch", "plans"],
    ])
    func aFullDiskIsStatus74(arguments: [String]) async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        let run = try CommandRun(["pydio"] + arguments, environment: scene.environment, outputFile: "/dev/full")
        #expect(await run.status() == 74)
        #expect(run.errors == [Self.full])
    }

    @Test func aFullDiskEndsListening() async throws {
        let server = try await PusherMockServer.start()
        let run = try CommandRun(
            [
                "listen", "c", "--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)", "--key",
                PusherMockServer.App.defaultKey,
            ], outputFile: "/dev/full")
        #expect(await run.status() == 74)
        #expect(run.errors == [Self.full])
        await server.stop()
    }

    private static let noInput: [[String]] = [
        ["trigger", "a", "e", "-"], ["trigger", "--lines", "a", "e"], ["client-event", "private-a", "client-e", "-"],
        ["client-event", "--lines", "private-a", "client-e"], ["shell"],
    ]

    @Test(arguments: noInput)
    func aMissingStandardInputIsSaid(arguments: [String]) async throws {
        let run = try await run(arguments, "<&-")
        #expect(await run.status() == 65)
        #expect(run.errors == ["error: standard input cannot be read"])
    }

    @Test(arguments: [["channels"], ["listen", "a"]])
    func aMissingStandardOutputIsStatus74(arguments: [String]) async throws {
        let run = try await run(arguments, ">&-")
        #expect(await run.status() == 74)
        #expect(run.errors == ["error: standard output cannot be written: Bad file descriptor"])
    }

    /// No text for standard error reaches a connection.
    @Test func aMissingStandardErrorIsNoTrouble() async throws {
        let run = try await run(["subscribe", "b", "--timeout", "2"], "<&- 2>&-")
        #expect(await run.status() == 0)
    }

    /// Runs a command against a server with one channel, which ends with the run.
    private func run(_ arguments: [String], _ redirection: String) async throws -> CommandRun {
        let server = try await PusherMockServer.start()
        let environment = [
            "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
            "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_HOST": "127.0.0.1:\(server.port)",
            "PUSHER_TLS": "0",
        ]
        let listener = try CommandRun(["subscribe", "a"], environment: environment)
        #expect(await server.waitFor { $0.channels() == ["a"] })
        let run = try CommandRun(arguments, environment: environment, redirection: redirection)
        _ = await run.status()
        listener.interrupt()
        await server.stop()
        return run
    }

    @Test func whoeverLeavesStandardErrorEndsNothing() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        let run = try CommandRun(
            ["pydio", "rm", "plans:/none", "plans:/a.txt"], environment: scene.environment, closesErrors: true)
        #expect(await run.status() == 65)
        try scene.write("one", to: "1.txt")
        let rest = try CommandRun(
            ["pydio", "put", scene.local("none").path, scene.local("1.txt").path, "plans:"],
            environment: scene.environment, closesErrors: true)
        #expect(await rest.status() == 65)
        #expect(rest.output == ["plans:/1.txt"])
    }
}
