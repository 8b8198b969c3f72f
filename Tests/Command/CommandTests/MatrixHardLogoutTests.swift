import Basics
import Foundation
import MatrixTestSupport
import TestSupport
import Testing

/// A login that the homeserver ends permanently while several processes use it.
@Suite(.overSockets)
struct MatrixHardLogoutTests {
    private let isOver = Lock(false)

    /// Once the login is over, one-time commands learn about it; `listen` keeps polling until it does, too.
    private func scene(listenIsTold: Lock<Bool>) async throws -> MatrixScene {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        scene.server.setGate { [isOver] request in
            guard isOver.withLock({ $0 }), request.token == MatrixScene.token else { return nil }
            let isLongPoll = (request.parameter("timeout").flatMap { Int($0) } ?? 0) > 0
            return isLongPoll && !listenIsTold.withLock { $0 } ? nil : .unknownToken(softLogout: false)
        }
        return scene
    }

    @Test func allThatIsStoredGoes_whoeverOwnsIt() async throws {
        let isTold = Lock(false)
        let scene = try await scene(listenIsTold: isTold)
        let listen = try scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        #expect(FileManager.default.fileExists(atPath: scene.database.path))
        isOver.withLock { $0 = true }
        #expect(try await scene.matrix("rooms").status == 77)
        #expect(!FileManager.default.fileExists(atPath: scene.database.path))
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
        isTold.withLock { $0 = true }
        #expect(await listen.status() == 77)
        #expect(!FileManager.default.fileExists(atPath: scene.database.deletingLastPathComponent().path))
    }

    @Test func aProcessOfTheOldLoginLeavesTheNextLoginsStoreAlone() async throws {
        let isTold = Lock(false)
        let scene = try await scene(listenIsTold: isTold)
        let listen = try scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        isOver.withLock { $0 = true }
        #expect(try await scene.matrix("rooms").status == 77)
        // The user logs in again before the old process notices anything.
        try scene.logIn(device: "NEW", token: "syt_new")
        #expect(try await scene.matrix("rooms").status == 0)
        isTold.withLock { $0 = true }
        #expect(await listen.status() == 77)
        let rooms = try await scene.matrix("rooms", "--offline", "--json")
        #expect(rooms.status == 0)
        #expect(rooms.run.objects.compactMap { $0["name"] as? String } == ["Lobby"])
    }
}
