import Foundation
import PusherMockServer
import PydioTestSupport
import TestSupport
import Testing

/// What becomes of commands whose output cannot be written.
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
