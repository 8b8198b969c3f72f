import Basics
import Foundation
import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TerminalUI
import TestSupport
import Testing

/// Threads are reported at their root events, and each has a data source of its own.
@MainActor @Suite(.overSockets) struct ThreadTests {
    private static let relations = "v1/rooms/*/relations/*/m.thread"
    private static let root = #"{"type":"m.room.message","event_id":"$root","sender":"@b:s","origin_server_ts":1,"#

    private nonisolated static func reply(_ id: String, _ body: String, ts: Int, sender: String = "@b:s") -> String {
        #"{"type":"m.room.message","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),"#
            + #""content":{"msgtype":"m.text","body":"\#(body)","m.relates_to":{"rel_type":"m.thread","event_id":"$root"}}}"#
    }

    private nonisolated static func page(_ events: [String], next: String? = nil) -> FakeAnswer {
        .json(#"{"chunk":[\#(events.joined(separator: ","))]\#(next.map { #","next_batch":"\#($0)""# } ?? "")}"#)
    }

    private func room(_ timeline: [String], root: String = "", prevBatch: String? = nil) async throws -> LiveRoom {
        let first = Self.root + #"\#(root)"content":{"msgtype":"m.text","body":"lunch?"}}"#
        let room = try await LiveRoom(timeline: [first] + timeline, prevBatch: prevBatch)
        let answer = FakeAnswer.json(first)
        room.scene.server.on("GET", "v3/rooms/*/event/*", answer)
        try await room.source.paginate(50, direction: .backwards, onlyFromStore: true)
        return room
    }

    private func thread(of room: LiveRoom) async throws -> MXKRoomDataSource {
        let thread = MXKRoomDataSource(roomId: "!r:s", threadId: "$root", andMatrixSession: room.scene.session)
        await thread.whenPrepared()
        #expect(thread.state == .ready)
        return thread
    }

    private func texts(_ source: MXKRoomDataSource) -> [String] {
        (0..<source.numberOfCells).compactMap { source.cellData(at: $0) as? MXKRoomBubbleCellData }
            .flatMap { $0.bubbleComponents.compactMap(\.textMessage) }
    }

    private func summary(_ room: LiveRoom) -> MXThreadSummary? {
        (room.source.cellDataOfEvent(withEventId: "$root") as? MXKRoomBubbleCellData)?.threads["$root"]
    }

    @Test func aMessageThatIsInItsOwnThreadIsShown() async throws {
        let own = Self.reply("$root2", "me myself", ts: 2)
            .replacing(#""event_id":"$root"}"#, with: #""event_id":"$root2"}"#)
        let room = try await room([own, Sync.message("$2", "else", ts: 3)])
        #expect(room.texts == ["lunch?", "me myself", "else"])
    }

    @Test func theRoomTellsOfAThread_andShowsNothingOfIt() async throws {
        let room = try await room([Self.reply("$1", "yes", ts: 2), Sync.message("$2", "else", ts: 3)])
        #expect(room.texts == ["lunch?", "else"])
        #expect(summary(room)?.count == 1 && summary(room)?.latest?.eventId == "$1")
        await room.scene.next(Sync.answer("s2", Sync.room(timeline: [Self.reply("$3", "where?", ts: 4)])))
        #expect(await eventually { await self.summary(room)?.count == 2 })
        #expect(summary(room)?.latest?.body == "where?" && room.texts == ["lunch?", "else"])
    }

    /// The homeserver also counts messages that are not stored here.
    @Test func whatTheHomeserverCountsIsTold_andWhatCameSince() async throws {
        let bundle =
            #""unsigned":{"m.relations":{"m.thread":{"count":7,"current_user_participated":false,"latest_event":"#
            + Self.reply("$7", "seventh", ts: 70) + "}}},"
        let room = try await room([], root: bundle)
        #expect(summary(room)?.count == 7 && summary(room)?.latest?.body == "seventh")
        await room.scene.next(Sync.answer("s2", Sync.room(timeline: [Self.reply("$8", "eighth", ts: 80)])))
        #expect(await eventually { await self.summary(room)?.count == 8 })
        #expect(summary(room)?.latest?.body == "eighth")
    }

    /// Whatever number the homeserver reports.
    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "-1", "1e400"])
    func aCountThatCannotBeIsNoHarm(_ count: String) async throws {
        let bundle =
            #""unsigned":{"m.relations":{"m.thread":{"count":\#(count),"latest_event":\#(Self.reply("$7", "seventh", ts: 1))}}},"#
        let room = try await room([Self.reply("$8", "eighth", ts: 80)], root: bundle)
        #expect(summary(room)?.count ?? 0 >= 1 && summary(room)?.latest?.body == "eighth")
    }

    /// The root event of a thread may be out of reach while its replies are not.
    @Test func withoutItsRootAThreadIsShownAllTheSame() async throws {
        let room = try await room([])
        room.scene.server.on("GET", "v3/rooms/*/event/*", .error(404, "M_NOT_FOUND"))
        room.scene.server.on("GET", Self.relations, Self.page([Self.reply("$1", "one", ts: 2)]))
        let thread = try await thread(of: room)
        #expect(await eventually { await self.texts(thread).contains("one") })
        await #expect(throws: (any Error).self) { try await thread.paginate(10, direction: .backwards) }
        thread.destroy()
    }

    @Test func aDeletedReplyIsNotCounted() async throws {
        let room = try await room([Self.reply("$1", "yes", ts: 2), Self.reply("$2", "no", ts: 3)])
        let redaction =
            #"{"type":"m.room.redaction","event_id":"$x","sender":"@b:s","origin_server_ts":4,"redacts":"$2","content":{"redacts":"$2"}}"#
        await room.scene.next(
            Sync.answer("s2", Sync.room(timeline: [redaction, Self.reply("$3", "maybe", ts: 5)])))
        #expect(await eventually { await self.summary(room)?.latest?.body == "maybe" })
        #expect(summary(room)?.count == 2)
    }

    /// Stored messages appear without the homeserver.
    @Test func aThreadIsShownFromTheStore_thenAsTheHomeserverHasIt() async throws {
        let room = try await room([Self.reply("$1", "one", ts: 2), Self.reply("$5", "five", ts: 6)])
        room.scene.server.on("GET", Self.relations, .silence)
        let offline = try await thread(of: room)
        #expect(texts(offline) == ["lunch?", "one", "five"])
        #expect(await room.scene.server.hasBeenAsked("GET", Self.relations))
        offline.destroy()
        room.scene.server.on(
            "GET", Self.relations,
            [
                Self.page([Self.reply("$5", "five", ts: 6), Self.reply("$3", "three", ts: 4)], next: "n"),
                Self.page([Self.reply("$1", "one", ts: 2)]),
            ])
        let thread = try await thread(of: room)
        #expect(await eventually { await self.texts(thread) == ["three", "five"] })
        try await thread.paginate(10, direction: .backwards)
        #expect(texts(thread) == ["lunch?", "one", "three", "five"] && !thread.canPaginate(.backwards))
        thread.destroy()
    }

    @Test func aThreadIsLive_andTakesNothingElse() async throws {
        let room = try await room([Self.reply("$1", "one", ts: 2)])
        room.scene.server.on("GET", Self.relations, Self.page([Self.reply("$1", "one", ts: 2)]))
        let thread = try await thread(of: room)
        #expect(await eventually { await !thread.canPaginate(.backwards) })
        await room.scene.next(
            Sync.answer(
                "s2", Sync.room(timeline: [Sync.message("$2", "else", ts: 3), Self.reply("$3", "three", ts: 4)])))
        #expect(await eventually { await self.texts(thread) == ["lunch?", "one", "three"] })
        #expect(await room.shows(["lunch?", "else"]))
        thread.destroy()
    }

    /// The homeserver's answer may be older than the latest sync.
    @Test func whatHasComeSinceStays() async throws {
        let room = try await room([Self.reply("$1", "one", ts: 2)])
        room.scene.server.on(
            "GET", Self.relations, [.error(403, "M_FORBIDDEN"), Self.page([Self.reply("$1", "one", ts: 2)])])
        let thread = try await thread(of: room)
        await room.scene.next(Sync.answer("s2", Sync.room(timeline: [Self.reply("$2", "two", ts: 3)])))
        #expect(await eventually { await self.texts(thread) == ["lunch?", "one", "two"] })
        #expect(await room.scene.server.hasBeenAsked("GET", Self.relations))
        try await thread.paginate(10, direction: .backwards)
        #expect(!thread.canPaginate(.backwards) && texts(thread) == ["lunch?", "one", "two"])
        thread.destroy()
    }

    @Test func whatIsSentInAThreadStandsThere() async throws {
        let room = try await room([Self.reply("$1", "one", ts: 2)])
        room.scene.server.on("GET", Self.relations, Self.page([Self.reply("$1", "one", ts: 2)]))
        room.scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$mine"}"#))
        let thread = try await thread(of: room)
        #expect(await eventually { await !thread.canPaginate(.backwards) })
        _ = try await thread.sendTextMessage("two")
        #expect(texts(thread) == ["lunch?", "one", "two"] && room.texts == ["lunch?"])
        _ = try await thread.sendReply(toEventWithId: "$root", withTextMessage: "three")
        let sent = room.scene.server.requests("PUT", "v3/rooms/*/send/*/*").compactMap { $0.json?["m.relates_to"] }
        #expect(sent.map { $0["rel_type"]?.string } == ["m.thread", "m.thread"])
        #expect(sent.map { $0["event_id"]?.string } == ["$root", "$root"])
        #expect(sent.map { $0["m.in_reply_to"]?["event_id"]?.string } == ["$1", "$root"])
        #expect(sent.map { $0["is_falling_back"]?.bool } == [true, false])
        thread.destroy()
    }

    /// The room's receipt leaves threads unread, and vice versa.
    @Test func eachIsReadByItself() async throws {
        let room = try await room([Self.reply("$1", "one", ts: 2)])
        room.scene.server.on("POST", "v3/rooms/*/receipt/m.read/*", .json("{}"))
        room.scene.server.on("POST", "v3/rooms/*/read_markers", .json("{}"))
        room.scene.server.on("GET", Self.relations, Self.page([Self.reply("$1", "one", ts: 2)]))
        let unread =
            #""unread_notifications":{"notification_count":1},"unread_thread_notifications":{"$root":{"notification_count":1}}"#
        await room.scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$2", "else", ts: 3)], more: unread)))
        #expect(await eventually { await room.source.room?.summary.unreadThreads.count == 1 })
        #expect(await room.shows(["lunch?", "else"]))
        try await room.source.acknowledge()
        let thread = try await thread(of: room)
        #expect(await eventually { await !thread.canPaginate(.backwards) })
        try await thread.acknowledge()
        let receipts = room.scene.server.requests("POST", "v3/rooms/*/receipt/m.read/*")
        #expect(receipts.map { $0.path.last } == ["$2", "$1"])
        #expect(receipts.map { $0.json?["thread_id"]?.string } == ["main", "$root"])
        thread.destroy()
    }

    // MARK: The screen

    @Test func aThreadIsOpenedAndLeftByKeys_andKeepsWhatIsWritten() async throws {
        let room = try await room([Self.reply("$1", "one", ts: 2), Sync.message("$2", "else", ts: 3)])
        room.scene.server.on("GET", Self.relations, Self.page([Self.reply("$1", "one", ts: 2)]))
        let screen = MXKRoomViewController()
        screen.displayRoom(room.source)
        let shown: @MainActor @Sendable () -> String = {
            screen.draw(columns: 60, rows: 20).text.joined(separator: "\n")
        }
        #expect(shown().contains("↳ 1 reply  Bob: one"))
        _ = screen.handle(.alt("t"))
        #expect(await eventually { await MainActor.run { shown().contains("Thread in") && shown().contains("one") } })
        #expect(!shown().contains("else"))
        _ = screen.handle(.text("draft"))
        _ = screen.handle(.escape)
        #expect(screen.roomDataSource === room.source && !shown().contains("draft"))
        #expect(await eventually { await shown().contains("else") })
        #expect(screen.selectedEventId == "$root")
        _ = screen.handle(.alt("t"))
        #expect(screen.inputToolbarView.textMessage == "draft")
        screen.destroy()
    }
}
