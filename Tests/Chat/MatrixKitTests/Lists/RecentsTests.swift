import Foundation
import MatrixKit
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@MainActor @Suite(.overSockets) struct RecentsTests {
    private static func name(_ name: String) -> String {
        #"""
        {"type":"m.room.name","event_id":"$n-\#(name)","sender":"@b:s","state_key":"","origin_server_ts":1,"content":{"name":"\#(name)"}}
        """#
    }

    private static func room(_ id: String, _ name: String, ts: Int, more: String = "") -> String {
        Sync.room(
            id, state: Sync.members + [Self.name(name)],
            timeline: [Sync.message("$\(name)", "in \(name)", sender: more.isEmpty ? "@a:s" : "@b:s", ts: ts)],
            more: more)
    }

    private static let unread = #""account_data":{"events":[{"type":"m.marked_unread","content":{"unread":true}}]}"#

    /// Three rooms, one of them unread.
    private func started() async throws -> SessionScene {
        let scene = try await SessionScene()
        scene.script(
            Sync.answer("s1", Self.room("!b:s", "Börse", ts: 10, more: Self.unread)),
            Sync.answer("s2", Self.room("!a:s", "Attic", ts: 30)),
            Sync.answer("s3", Self.room("!c:s", "Cellar", ts: 20)))
        try await scene.session.start()
        #expect(await eventually { scene.session.roomsSummaries.count == 3 })
        #expect(scene.session.room(withRoomId: "!b:s")?.summary.isMarkedUnread == true)
        return scene
    }

    private static func names(_ list: MXKRecentsDataSource) -> [String] {
        (0..<list.numberOfSections).flatMap { section in
            (0..<list.numberOfCells(inSection: section)).compactMap {
                list.cellData(at: IndexPath(row: $0, section: section))?.roomDisplayname
            }
        }
    }

    private func list(_ scene: SessionScene) async -> MXKRecentsDataSource {
        let list = MXKRecentsDataSource(matrixSession: scene.session)
        #expect(await eventually { await list.state == .ready })
        return list
    }

    @Test func orders() async throws {
        let scene = try await started()
        let list = await list(scene)
        #expect(Self.names(list) == ["Attic", "Cellar", "Börse"])
        list.order = .unreadFirst
        #expect(Self.names(list) == ["Börse", "Attic", "Cellar"])
        list.order = .name
        #expect(Self.names(list) == ["Attic", "Börse", "Cellar"])
    }

    @Test func filtersAndSearches() async throws {
        let scene = try await started()
        let list = await list(scene)
        list.filter = .unread
        #expect(Self.names(list) == ["Börse"] && list.hasUnread)
        list.filter = .all
        for (patterns, names) in [(["borse"], ["Börse"]), (["ATT", "cell"], ["Attic", "Cellar"]), (["x"], [])] {
            list.search(withPatterns: patterns)
            #expect(Self.names(list) == names)
        }
        list.search(withPatterns: nil)
        #expect(Self.names(list).count == 3)
    }

    @Test func aRoomWithANewMessageMovesUp() async throws {
        let scene = try await started()
        let list = await list(scene)
        await scene.next(Sync.answer("s4", Sync.room("!b:s", timeline: [Sync.message("$new", "news", ts: 99)])))
        #expect(await eventually { await Self.names(list) == ["Börse", "Attic", "Cellar"] })
        let path = try #require(list.cellIndexPath(withRoomId: "!b:s", andMatrixSession: scene.session))
        #expect(path.section == 0 && path.row == 0)
        #expect(list.cellData(at: path)?.lastEventTextMessage == "Bob: news")
        #expect(list.getRoomAt(path)?.roomId == "!b:s")
        #expect(
            list.cellData(at: IndexPath(row: 9, section: 0)) == nil
                && list.getRoomAt(IndexPath(row: 0, section: 9)) == nil)
    }

    @Test func severalSessionsAreSections_orOneList() async throws {
        let (one, other) = (try await started(), try await started())
        let list = await list(one)
        list.addMatrixSession(other.session)
        list.addMatrixSession(other.session)
        #expect(await eventually { await Self.names(list).count == 6 })
        #expect(list.numberOfSections == 2)
        let merged = MXKInterleavedRecentsDataSource(matrixSession: one.session)
        merged.addMatrixSession(other.session)
        #expect(
            await eventually { await Self.names(merged) == ["Attic", "Attic", "Cellar", "Cellar", "Börse", "Börse"] })
        #expect(merged.numberOfSections == 1)
        merged.removeMatrixSession(other.session)
        #expect(Self.names(merged) == ["Attic", "Cellar", "Börse"])
        list.destroy()
        #expect(list.numberOfSections == 0)
    }

    // MARK: Members

    private static func members(_ list: MXKRoomMemberListDataSource) -> [String] {
        (0..<list.numberOfCells).compactMap { list.cellData(at: $0)?.memberDisplayName }
    }

    @Test func membersAreOrdered_andSearched() async throws {
        let scene = try await SessionScene()
        let levels = #"""
            {"type":"m.room.power_levels","event_id":"$p","sender":"@b:s","state_key":"","origin_server_ts":1,
            "content":{"users":{"@b:s":100,"@c:s":50}}}
            """#
        let state = [
            Sync.member("@z:s", "invite", name: "Aaron"), Sync.member("@c:s", name: "carol"),
            Sync.member("@gone:s", "leave"), levels,
        ]
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members + state)))
        try await scene.session.start()
        #expect(await eventually { scene.session.room(withRoomId: "!r:s") != nil })
        let list = MXKRoomMemberListDataSource(roomId: "!r:s", andMatrixSession: scene.session)
        list.settings = MXKAppSettings()
        #expect(await eventually { await Self.members(list) == ["Alice", "Bob", "carol", "Aaron"] })
        #expect((0..<3).map { list.cellData(at: $0)?.powerLevel } == [0, 1, 0.5])
        list.search(withPatterns: ["CAR", "@b:"])
        #expect(Self.members(list) == ["Bob", "carol"])
        list.search(withPatterns: nil)
        await scene.next(
            Sync.answer(
                "s2", Sync.room(more: #""ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":["@b:s"]}}]}"#))
        )
        #expect(await eventually { await list.cellData(at: 1)?.isTyping == true })
    }
}
