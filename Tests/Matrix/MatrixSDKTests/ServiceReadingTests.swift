import Basics
import Dispatch
import Foundation
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// The service reads what it shows without blocking the main actor, and reads no more than it shows.
@Suite(.overSockets)
struct ServiceReadingTests {
    private static let sync = Sync.answer(
        "s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")], prevBatch: "p"))

    @Test @MainActor func aListOfRoomsLoadsTheStateOfNone() async throws {
        let scene = try await ServiceScene()
        let first = try await scene.service()
        try await first.loginWithPassword(username: "a", password: "p")
        scene.script(Self.sync)
        try await first.startSync()
        first.account?.end()
        let service = try await scene.service()
        #expect(try await service.restoreSession())
        let rooms = try await service.getJoinedRooms()
        #expect(rooms.map(\.id) == ["!r:s"])
        #expect(rooms.first?.lastMessage?.sender.displayName == "Bob")
        #expect(try await service.getRoom(roomId: "!r:s") == rooms.first)
        let isLoaded = service.session?.core.account.model { $0.rooms["!r:s"]?.state != nil }
        #expect(isLoaded == false)
    }

    @Test func aListOfRoomsIsReadBesideTheMainActor() async throws {
        let store = ProbedStore()
        let scene = try await SessionScene(store: store)
        scene.script(Self.sync)
        try await scene.session.start()
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let reads = Lock<[Bool]>([])
        store.setProbe { call in
            if call == .event { reads.withLock { $0.append(DispatchQueue.getSpecific(key: key) == true) } }
        }
        let session = scene.session
        let rooms = await Task { @MainActor in await MatrixRoom.joined(in: session) }.value
        #expect(rooms.first?.lastMessage?.id == "$1")
        #expect(reads.withLock { !$0.isEmpty && !$0.contains(true) })
        store.setProbe(nil)
    }

    /// The service's session is public, and so is its client's queue.
    @Test @MainActor func anotherCompletionQueueIsNoTrap() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        service.session?.matrixRestClient.completionQueue = .global()
        let heard = Lock<[String]>([])
        service.onMessageReceived = { message in heard.withLock { $0.append(message.id) } }
        let messages = (1...20).map { Sync.message("$\($0)") }
        await scene.next(service, Sync.answer("s2", Sync.room(timeline: messages)))
        #expect(await eventually { heard.withLock { $0.count } == 20 })
        #expect(heard.withLock { $0 } == (1...20).map { "$\($0)" })
        await scene.next(service, .unknownToken(softLogout: true))
        #expect(await eventually { await MainActor.run { service.connectionState } == .error(Self.ended) })
    }

    private static let ended = "The homeserver has ended the login: log in again."
}
