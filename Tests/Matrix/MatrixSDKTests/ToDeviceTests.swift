import Basics
import Dispatch
import EncryptionTestSupport
import JSONBytes
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixEncryption
@testable import MatrixSDK

/// Messages to this device, which the server sends once: none may be lost, whenever the process ends.
@Suite(.overSockets)
struct ToDeviceTests {
    private static let messages = #"""
        "to_device":{"events":[{"type":"m.one","sender":"@b:s","content":{}},{"type":"m.two","sender":"@b:s","content":{}}]}
        """#

    /// Starts a session, and returns the types of the messages delivered until the first event.
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
        // The process ends after the answer is stored, and before the application is notified.
        let first = try await SessionScene(store: MXFileStore(folder: folder))
        let queue = DispatchQueue(label: "busy")
        queue.suspend()
        defer { queue.resume() }
        first.session.matrixRestClient.completionQueue = queue
        first.script(Sync.answer("s1", Self.messages))
        try await first.session.start()
        #expect(await first.isPolled())
        first.session.close()
        // The next process delivers it first of all.
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

    /// Another user's server can send anything unencrypted.
    @Test func whatWasEncryptedIsToldApartFromWhatWasSaidInClear_alsoAfterARestart() async throws {
        let scene = try await EncryptedScene()
        let heard = Lock<[MXEvent]>([])
        let token = NotificationCenter.default.addObserver(
            forName: .mxSessionOnToDeviceEvent, object: scene.session, queue: nil
        ) { note in
            guard let event = note.userInfo?[kMXSessionNotificationEventKey] as? MXEvent else { return }
            heard.withLock { $0.append(event) }
        }
        defer { NotificationCenter.default.removeObserver(token) }
        try scene.home.with { world in
            let content = object { $0.add("text", "hello") }
            let clear = object { writer in
                writer.add("type", "m.custom")
                writer.add("sender", "@b:s")
                writer.add("content", content)
            }
            world.keys.inject(clear, to: LyingHomeserver.client)
            let keys = try DeviceKeys(
                #require(world.keys.devices[LyingHomeserver.client]?.keys), user: LyingHomeserver.client.user)
            try world.bob.know(LyingHomeserver.client.user)
            try world.bob.turn { machine, _ in machine.wanted.insert(LyingHomeserver.client) }
            try world.bob.pump()
            try world.bob.turn { machine, turn in
                let message = try #require(try machine.encrypt("m.custom", content, for: keys, &turn))
                try machine.post("m.room.encrypted", [(LyingHomeserver.client, message)], shares: [], &turn)
            }
            try world.bob.pump()
        }
        #expect(await eventually { heard.withLock { $0.count } == 2 })
        let events = heard.withLock { $0 }
        #expect(events.map(\.type) == ["m.custom", "m.custom"])
        #expect(events.map(\.isDecrypted) == [false, true] && events.map(\.isEncrypted) == [false, false])
        #expect(events.allSatisfy { $0.sender == "@b:s" && $0.contentJSON["text"]?.string == "hello" })
        // The same holds for messages that were stored but not delivered.
        let folder = FileManager.default.temporaryDirectory.appending(path: "device-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = MXFileStore(folder: folder)
        _ = try store.open(userId: "@a:s", deviceId: "DEVICE")
        var changes = MXStoreChanges()
        changes.toDevice = events.enumerated().map { MXToDeviceMessage(id: "\($0.offset)", event: $0.element) }
        try store.commit(changes)
        store.close()
        let stored = try store.open(userId: "@a:s", deviceId: "DEVICE").toDevice.map(\.event)
        #expect(stored == events && stored.map(\.isDecrypted) == [false, true])
        store.close()
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
        // As if the process had ended here.
        try FileManager.default.copyItem(at: folder, to: copy)
        let stored = try MXFileStore(folder: copy).open(userId: "@a:s", deviceId: scene.session.credentials?.deviceId)
        #expect(stored.syncToken == "s3" && stored.toDevice.isEmpty)
    }
}
