import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixKit

@Suite(.overSockets)
@MainActor
struct RoomDataSourceManagerTests {
    @Test func aRoomHasOneLiveDataSource() async throws {
        let scene = try await KitScene()
        try await scene.start(KitScene.room("!r:s", timeline: [KitScene.message("$1", "hello", ts: 1)]))
        let manager = MXKRoomDataSourceManager.sharedManager(forMatrixSession: scene.session)
        #expect(manager === MXKRoomDataSourceManager.sharedManager(forMatrixSession: scene.session))
        #expect(await manager.roomDataSource(forRoom: "!r:s", create: false) == nil)
        async let one = manager.roomDataSource(forRoom: "!r:s", create: true)
        async let other = manager.roomDataSource(forRoom: "!r:s", create: true)
        let (first, second) = await (one, other)
        #expect(first?.state == .ready)
        #expect(first === second)
        var calls = 0
        manager.roomDataSource(forRoom: "!r:s", create: true) { found in
            calls += 1
            #expect(found === first)
        }
        #expect(await eventually { @MainActor in calls == 1 })
        MXKRoomDataSourceManager.removeSharedManager(forMatrixSession: scene.session)
        #expect(first?.isDestroyed == true)
    }

    @Test func closingKeepsOrDestroys_asThePolicySays() async throws {
        let scene = try await KitScene()
        try await scene.start(KitScene.room("!r:s"))
        let manager = MXKRoomDataSourceManager.sharedManager(forMatrixSession: scene.session)
        let source = try #require(await manager.roomDataSource(forRoom: "!r:s", create: true))
        manager.closeRoomDataSource(withRoomId: "!r:s", forceClose: false)
        #expect(await manager.roomDataSource(forRoom: "!r:s", create: false) === source)
        manager.releasePolicy = .releaseOnClose
        manager.closeRoomDataSource(withRoomId: "!r:s", forceClose: false)
        #expect(source.isDestroyed)
        #expect(await manager.roomDataSource(forRoom: "!r:s", create: false) == nil)
    }

    @Test func twentyAreKept_andThoseThatAreShown() async throws {
        let scene = try await KitScene()
        let rooms = (0..<25).map { "!\($0):s" }
        try await scene.start(rooms.map { KitScene.room($0) }.joined(separator: ","))
        let manager = MXKRoomDataSourceManager.sharedManager(forMatrixSession: scene.session)
        let screen = DelegateRecorder()
        var sources: [MXKRoomDataSource] = []
        for room in rooms {
            let source = try #require(await manager.roomDataSource(forRoom: room, create: true))
            if sources.isEmpty { source.delegate = screen }
            sources.append(source)
        }
        #expect(manager.count == 20)
        #expect(sources.map(\.isDestroyed) == (0..<25).map { (1...5).contains($0) })
    }

    @Test func aRoomThatIsLeft_andASessionThatCloses_destroyThem() async throws {
        let scene = try await KitScene()
        try await scene.start(KitScene.room("!r:s"), KitScene.room("!o:s"))
        let manager = MXKRoomDataSourceManager.sharedManager(forMatrixSession: scene.session)
        let left = try #require(await manager.roomDataSource(forRoom: "!r:s", create: true))
        let other = try #require(await manager.roomDataSource(forRoom: "!o:s", create: true))
        await scene.next(#"{"next_batch":"s2","rooms":{"leave":{\#(KitScene.room("!r:s"))}}}"#)
        #expect(await eventually { @MainActor in left.isDestroyed })
        #expect(!other.isDestroyed)
        scene.session.close()
        #expect(await eventually { @MainActor in other.isDestroyed })
    }
}
