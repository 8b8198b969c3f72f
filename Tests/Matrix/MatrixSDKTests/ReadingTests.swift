import Basics
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// A room becomes read when the homeserver has accepted the receipt, not before.
@Suite(.overSockets)
struct ReadingTests {
    private static let counts = #""unread_notifications":{"notification_count":2,"highlight_count":1}"#

    /// A room with two unread messages.
    private func scene(_ store: ProbedStore = ProbedStore()) async throws -> (SessionScene, MXRoom) {
        let scene = try await SessionScene(store: store)
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$1"), Sync.message("$2")], more: Self.counts)))
        #expect(await eventually { room.summary.localUnreadEventCount == 2 })
        return (scene, room)
    }

    private func unread(_ room: MXRoom) -> [Int] {
        [room.summary.localUnreadEventCount, room.summary.notificationCount, room.summary.highlightCount]
    }

    @Test func aRoomIsNotReadBeforeTheServerSaysSo_andAMessageThatCameMeanwhileStaysUnread() async throws {
        let (scene, room) = try await scene()
        let (gate, isHeld) = (Lock(false), Lock(true))
        scene.server.on(
            "POST", "v3/rooms/*/read_markers", FakeAnswer.ok.held { isHeld.withLock { $0 } })
        async let reading: Void = {
            try await room.markAllAsRead()
            gate.withLock { $0 = true }
        }()
        #expect(await scene.server.hasBeenAsked("POST", "v3/rooms/*/read_markers"))
        #expect(unread(room) == [2, 2, 1])
        await scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$3")])))
        #expect(await eventually { room.summary.localUnreadEventCount == 3 })
        #expect(!gate.withLock { $0 })
        isHeld.withLock { $0 = false }
        try await reading
        #expect(room.summary.localUnreadEventCount == 1)
        // The server's count does not change.
        #expect(room.summary.notificationCount == 2)
    }

    @Test func aReceiptThatFailsChangesNothing_alsoWithAMessageThatCameMeanwhile() async throws {
        let (scene, room) = try await scene()
        let isHeld = Lock(true)
        scene.server.on(
            "POST", "v3/rooms/*/read_markers", FakeAnswer.error(403, "M_FORBIDDEN").held { isHeld.withLock { $0 } })
        let reading = Task { try await room.markAllAsRead() }
        #expect(await scene.server.hasBeenAsked("POST", "v3/rooms/*/read_markers"))
        await scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$3")])))
        #expect(await eventually { room.summary.lastMessageId == "$3" })
        isHeld.withLock { $0 = false }
        await #expect(throws: MXError.self) { try await reading.value }
        #expect(unread(room) == [3, 2, 1])
    }

    @Test func whatIsReadIsStored() async throws {
        let store = ProbedStore()
        let (scene, room) = try await scene(store)
        scene.server.on("POST", "v3/rooms/*/read_markers", .ok)
        try await room.markAllAsRead()
        #expect(unread(room) == [0, 0, 0])
        #expect(scene.server.requests("POST", "v3/rooms/*/read_markers").last?.json?["m.read"]?.string == "$2")
    }

    @Test func aReceiptForAThreadReadsTheThread() async throws {
        let (scene, room) = try await scene()
        let reply = #"""
            {"type":"m.room.message","event_id":"$t","sender":"@b:s","origin_server_ts":1,
            "content":{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$1"}}}
            """#
        await scene.next(
            Sync.answer(
                "s3",
                Sync.room(
                    timeline: [reply],
                    more: Self.counts
                        + #","unread_thread_notifications":{"$1":{"notification_count":1,"highlight_count":0}}"#)))
        #expect(await eventually { unread(room) == [3, 3, 1] })
        scene.server.on("POST", "v3/rooms/*/receipt/*/*", .ok)
        try await room.sendReadReceipt("$t", threadId: "$1")
        #expect(unread(room) == [2, 2, 1] && room.summary.unreadThreads == [:])
        try await room.sendReadReceipt("$2", threadId: "main")
        #expect(unread(room) == [0, 0, 0])
    }
}
