import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import pusher_cli

/// The `pydio` commands where real servers do other things than their documentation lets one expect.
@Suite(.overSockets)
struct PydioRealServerTests {
    private func scene(_ mode: FakePydioMode = .v5_2) async throws -> PydioScene {
        try await PydioScene(FakePydioServer.Configuration(mode: mode))
    }

    // MARK: Logins

    @Test func aRefusedLoginIsNotTriedByEachWorkspace() async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "watch", "--json", "--poll-interval", "2"])
        #expect(
            await run.waitFor { lines in
                lines.count { $0.contains(#""to":"connected""#) } == 3
            }, "\(run.words)")
        scene.server.forgetRequests()
        scene.server.configure { $0.users = [FakePydioUser(id: "ada", password: "another")] }
        scene.server.expireSessions()
        #expect(await run.status() == 77)
        #expect(scene.server.count("login") == 1)
    }

    /// All of them find the same session dead at the same time.
    @Test(arguments: [FakePydioServer.SeedForm.text, .clear])
    func processesAtOnceLogInOnce(seedForm: FakePydioServer.SeedForm) async throws {
        var configuration = FakePydioServer.Configuration()
        configuration.seedForm = seedForm
        let scene = try await PydioScene(configuration)
        try scene.server.addFile("/a")
        #expect(try await scene.pydio("ls", "plans:").status == 0)
        for _ in 1...2 {
            scene.server.expireSessions()
            scene.server.forgetRequests()
            let runs = try (0..<6).map { _ in try scene.run(["pydio", "ls", "plans:"]) }
            for run in runs {
                #expect(await run.status() == 0, "\(run.errors)")
                #expect(run.errors == [])
            }
            #expect(scene.server.count("login") == 1)
        }
    }
}
