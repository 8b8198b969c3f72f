import Basics
import Foundation
import MatrixKit
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// The user's own messages appear at once and only once, whether the answer or the sync comes first.
@MainActor @Suite(.overSockets) struct EchoTests {
    private static let send = "v3/rooms/*/send/*/*"

    private func transaction(_ room: LiveRoom) async -> String {
        _ = await room.scene.server.hasBeenAsked("PUT", Self.send)
        return room.scene.server.requests("PUT", Self.send).last?.path.last ?? ""
    }

    @Test func theAnswerComesFirst() async throws {
        let room = try await LiveRoom()
        room.scene.server.on("PUT", Self.send, .json(#"{"event_id":"$own"}"#))
        #expect(try await room.source.sendTextMessage("mine") == "$own")
        #expect(await eventually { await room.ids == ["$own"] })
        let transaction = await transaction(room)
        await room.scene.next(
            Sync.answer("s2", Sync.room(timeline: [LiveRoom.own("$own", "mine", transaction: transaction)])))
        await room.scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$2", "yours")])))
        #expect(await room.shows(["mine", "yours"]))
        #expect(room.ids == ["$own", "$2"])
    }

    /// The server placed another message before ours.
    @Test func whenOursComesBackItTakesTheServersPlace() async throws {
        let room = try await LiveRoom()
        room.scene.server.on("PUT", Self.send, .json(#"{"event_id":"$own"}"#))
        _ = try await room.source.sendTextMessage("mine")
        await room.scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$2", "yours")])))
        #expect(await room.shows(["mine", "yours"]))
        let transaction = await transaction(room)
        await room.scene.next(
            Sync.answer("s3", Sync.room(timeline: [LiveRoom.own("$own", "mine", transaction: transaction)])))
        #expect(await room.shows(["yours", "mine"]))
        #expect(room.ids == ["$2", "$own"])
    }

    @Test func theSyncComesFirst() async throws {
        let room = try await LiveRoom()
        room.scene.server.on("PUT", Self.send, .json(#"{"event_id":"$own"}"#).after(.milliseconds(500)))
        let sending = Task { try await room.source.sendTextMessage("mine") }
        let transaction = await transaction(room)
        #expect(await room.shows(["mine"]))
        await room.scene.next(
            Sync.answer("s2", Sync.room(timeline: [LiveRoom.own("$own", "mine", transaction: transaction)])))
        #expect(await eventually { await room.ids == ["$own"] })
        #expect(try await sending.value == "$own")
        await room.scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$2", "yours")])))
        #expect(await room.shows(["mine", "yours"]))
    }

    @Test func whatFailedStays_andGoesToTheEndWhenItIsSentAgain() async throws {
        let room = try await LiveRoom()
        room.scene.server.on("PUT", Self.send, [.error(403, "M_FORBIDDEN"), .json(#"{"event_id":"$own"}"#)])
        await #expect(throws: (any Error).self) { try await room.source.sendTextMessage("mine") }
        #expect(await room.shows(["mine"]))
        let id = try #require(room.ids.first)
        #expect(await eventually { await room.source.event(withEventId: id)?.sentState == .failed })
        await room.scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$2", "yours")])))
        #expect(await room.shows(["mine", "yours"]))
        let answers = Lock<[String?]>([])
        room.source.resendEvent(
            withEventId: id, success: { id in answers.withLock { $0.append(id) } },
            failure: { _ in answers.withLock { $0.append("failed") } })
        #expect(await eventually { answers.withLock { $0 } == ["$own"] })
        #expect(await room.shows(["yours", "mine"]))
    }

    @Test func whatFailedCanBeTakenOff() async throws {
        let room = try await LiveRoom(timeline: [Sync.message("$1", "yours")])
        try await room.source.paginate(10, direction: .backwards)
        room.scene.server.on("PUT", Self.send, .error(403, "M_FORBIDDEN"))
        await #expect(throws: (any Error).self) { try await room.source.sendTextMessage("mine") }
        #expect(await room.shows(["yours", "mine"]))
        room.source.removeEvent(withEventId: try #require(room.ids.last))
        #expect(room.texts == ["yours"])
        #expect(room.source.room?.outgoingMessages.isEmpty == true)
    }
}
