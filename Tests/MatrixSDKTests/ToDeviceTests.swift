import Dispatch
import MatrixProtocol
import MatrixTestSupport
import TestSupport
import Testing
import Basics

@testable import MatrixSDK

/// Messages to this device, which the server sends once: none may be lost, whenever the process ends.
@Suite(.overSockets)
struct ToDeviceTests {
    private static let messages = #"""
        "to_device":{"events":[{"type":"m.one","sender":"@b:s","content":{}},{"type":"m.two","sender":"@b:s","content":{}}]}
        """#

    /// Starts a session, and returns the types of what it was told until something has come.
    private func told(_ scene: SessionScene, _ start: () async throws -> Void) async throws -> Lock<[String]> {
        let types = Lock<[String]>([])
        let token = NotificationCenter.default.addObserver(
            forName: .mxSessionOnToDeviceEvent, object: scene.session, queue: nil
        ) { note in
            types.withLock { $0.append((note.userInfo?[kMXSessionNotificationEventKey] as? MXEvent)?.type ?? "-") }
        }
        defer { NotificationCenter.default.removeObserver(token) }
        try await start()
        #expect(await scene.isPolled())
        _ = await eventually { types.withLock { $0.count } >= 2 }
        return types
    }

    @Test func whatWasStoredAndNotToldIsToldAtTheNextStart_andOnceOnly() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "device-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // The process ends when the answer is stored, and the application has not heard of it.
        let first = try await SessionScene(store: MXFileStore(folder: folder))
        let queue = DispatchQueue(label: "busy")
        queue.suspend()
        defer { queue.resume() }
        first.session.matrixRestClient.completionQueue = queue
        first.script(Sync.answer("s1", Self.messages))
        try await first.session.start()
        #expect(await first.isPolled())
        first.session.close()
        // Whoever comes after it is told first of all.
        let second = try await SessionScene(store: MXFileStore(folder: folder))
        second.script(Sync.answer("s1b"))
        let types = try await told(second) { try await second.session.start() }
        #expect(types.withLock { $0 } == ["m.one", "m.two"])
        #expect(second.polls.first?.parameter("since") == "s1")
        second.session.close()
        let third = try await SessionScene(store: MXFileStore(folder: folder))
        third.script(Sync.answer("s2", Self.messages))
        let later = try await told(third) { try await third.session.start() }
        #expect(later.withLock { $0 } == ["m.one", "m.two"])
    }

    @Test func whatWasToldLeavesTheStoreWithTheNextAnswer() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "device-\(UUID().uuidString)")
        let copy = folder.appendingPathExtension("copy")
        defer { for folder in [folder, copy] { try? FileManager.default.removeItem(at: folder) } }
        let scene = try await SessionScene(store: MXFileStore(folder: folder))
        scene.script(Sync.answer("s1", Self.messages))
        let types = try await told(scene) { try await scene.session.start() }
        #expect(types.withLock { $0 } == ["m.one", "m.two"])
        for number in 2...3 { await scene.next(Sync.answer("s\(number)")) }
        #expect(await eventually { scene.polls.last?.parameter("since") == "s3" })
        // As if the process ended here.
        try FileManager.default.copyItem(at: folder, to: copy)
        let stored = try MXFileStore(folder: copy).open(userId: "@a:s", deviceId: scene.session.credentials?.deviceId)
        #expect(stored.syncToken == "s3" && stored.toDevice.isEmpty)
    }
}
