import Basics
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing

/// Lists of rooms as in programs for the iOS SDK.
@Suite(.overSockets)
struct RoomListTests {
    @MainActor
    private final class Listener: MXRoomListDataFetcherDelegate {
        private(set) var changes: [(rooms: [String], isTotalNew: Bool)] = []

        func fetcherDidChangeData(_ fetcher: MXRoomListDataFetcher, totalCountsChanged: Bool) {
            changes.append((fetcher.data?.rooms.map(\.displayName) ?? [], totalCountsChanged))
        }
    }

    private static func state(_ type: String, _ content: String, key: String = "", id: String) -> String {
        #"{"type":"\#(type)","event_id":"\#(id)","sender":"@a:s","state_key":"\#(key)","content":{\#(content)}}"#
    }

    private static func name(_ name: String) -> String { state("m.room.name", #""name":"\#(name)""#, id: "$\(name)") }

    private static func joined(
        _ id: String, _ state: [String], ts: Int = 0, notifications: Int = 0, highlights: Int = 0, tag: String? = nil
    ) -> String {
        let message = ts == 0 ? "" : Sync.message("$m\(ts)", ts: ts)
        let tags = tag.map { #"{"type":"m.tag","content":{"tags":{"\#($0)":{"order":0.5}}}}"# } ?? ""
        return #"""
            "\#(id)":{"state":{"events":[\#((state + [Sync.member("@a:s")]).joined(separator: ","))]},
            "timeline":{"events":[\#(message)],"limited":false},"account_data":{"events":[\#(tags)]},
            "unread_notifications":{"notification_count":\#(notifications),"highlight_count":\#(highlights)}}
            """#
    }

    private static let space = joined(
        "!space",
        [
            state("m.room.create", #""type":"m.space","creator":"@a:s""#, id: "$create"), name("Space"),
            state("m.space.child", #""via":["s"]"#, key: "!alpha", id: "$c1"),
            state("m.space.child", #""via":["s"]"#, key: "!beta", id: "$c2"),
            state("m.space.child", "", key: "!gamma", id: "$c3"),
        ])

    /// Alpha, Beta and Gamma, a space with the first two, and an invitation to Delta.
    private func scene(_ change: (inout MXSessionOptions) -> Void = { _ in }) async throws -> SessionScene {
        let scene = try await SessionScene(change)
        let rooms = [
            Self.joined("!alpha", [Self.name("Alpha")], ts: 1),
            Self.joined("!beta", [Self.name("Beta")], ts: 3, notifications: 2, highlights: 1, tag: "m.favourite"),
            Self.joined("!gamma", [Self.name("Gámma")], ts: 2, notifications: 4), Self.space,
        ]
        let invitation = #""!delta":{"invite_state":{"events":[\#(Self.name("Delta"))]}}"#
        scene.script(
            Sync.answer("s1", #""rooms":{"join":{\#(rooms.joined(separator: ","))},"invite":{\#(invitation)}}"#))
        try await scene.session.start()
        return scene
    }

    private func fetcher(
        _ scene: SessionScene, pages: MXRoomListDataPaginationOptions = .none,
        _ filter: MXRoomListDataFilterOptions = MXRoomListDataFilterOptions(showAllRoomsInHomeSpace: true)
    ) throws -> MXRoomListDataFetcher {
        let options = MXRoomListDataFetchOptions(
            filterOptions: filter,
            sortOptions: MXRoomListDataSortOptions(missedNotificationsFirst: true, unreadMessagesFirst: false),
            paginationOptions: pages, async: false)
        let manager = try #require(scene.session.roomListDataManager)
        #expect(manager.session === scene.session)
        return manager.fetcher(withOptions: options)
    }

    private func names(_ fetcher: MXRoomListDataFetcher) -> [String]? { fetcher.data?.rooms.map(\.displayName) }

    @Test func roomsComeInOrder_pageByPage() async throws {
        let scene = try await scene()
        let fetcher = try fetcher(scene, pages: .custom(3))
        #expect(fetcher.data == nil)
        fetcher.paginate()
        #expect(names(fetcher) == ["Delta", "Beta", "Gámma"])
        let data = try #require(fetcher.data)
        #expect(data.hasMoreRooms && data.currentPage == 0)
        #expect(data.room(atIndex: 1).roomId == "!beta")
        #expect((data.counts.numberOfRooms, data.counts.total?.numberOfRooms) == (3, 4))
        #expect((data.counts.numberOfInvitedRooms, data.counts.numberOfNotifiedRooms) == (1, 3))
        #expect((data.counts.numberOfNotifications, data.counts.numberOfHighlights) == (6, 1))
        #expect((data.counts.numberOfHighlightedRooms, data.counts.numberOfUnsentRooms) == (1, 0))
        fetcher.paginate()
        #expect(names(fetcher) == ["Delta", "Beta", "Gámma", "Alpha"])
        #expect(fetcher.data?.hasMoreRooms == false && fetcher.data?.currentPage == 1)
        fetcher.paginate()
        #expect(fetcher.data?.rooms.count == 4)
        fetcher.resetPagination()
        #expect(names(fetcher) == ["Delta", "Beta", "Gámma"])
        fetcher.stop()
        #expect(fetcher.data == nil)
        fetcher.refresh()
        #expect(fetcher.data == nil)
    }

    @Test func aChangeOfTheOptionsMakesTheListAnew() async throws {
        let scene = try await scene()
        let fetcher = try fetcher(scene)
        fetcher.fetchOptions.filterOptions.query = "gam"
        #expect(fetcher.data == nil)  // not started
        fetcher.paginate()
        #expect(names(fetcher) == ["Gámma"])
        fetcher.fetchOptions.filterOptions.query = nil
        fetcher.fetchOptions.filterOptions.dataTypes = [.invited, .favorited]
        #expect(names(fetcher) == ["Delta", "Beta"])
        fetcher.fetchOptions.filterOptions.dataTypes = [.favorited, .unread]
        fetcher.fetchOptions.filterOptions.strictMatches = true
        #expect(names(fetcher) == ["Beta"])
        fetcher.fetchOptions.filterOptions = MXRoomListDataFilterOptions(showAllRoomsInHomeSpace: true)
        fetcher.fetchOptions.sortOptions = MXRoomListDataSortOptions(
            invitesFirst: false, lastEventDate: false, alphabetical: true, missedNotificationsFirst: false,
            unreadMessagesFirst: false)
        #expect(names(fetcher) == ["Alpha", "Beta", "Delta", "Gámma"])
        fetcher.fetchOptions.sortOptions = MXRoomListDataSortOptions(
            invitesFirst: false, lastEventDate: false, favoriteTag: true, missedNotificationsFirst: false,
            unreadMessagesFirst: false)
        #expect(names(fetcher)?.first == "Beta")
        withExtendedLifetime(scene) {}
    }

    @Test func roomsOfASpaceAreShownAtHomeIfTheyAreFavourites() async throws {
        let scene = try await scene()
        let fetcher = try fetcher(scene, MXRoomListDataFilterOptions(showAllRoomsInHomeSpace: false))
        fetcher.paginate()
        #expect(names(fetcher) == ["Delta", "Beta", "Gámma"])
        let spaces = try self.fetcher(
            scene, MXRoomListDataFilterOptions(dataTypes: .space, notDataTypes: [], showAllRoomsInHomeSpace: true))
        spaces.refresh()
        #expect(names(spaces) == ["Space"])
    }

    @MainActor
    @Test func aListKeepsUpToDate_andTellsWho() async throws {
        let scene = try await scene()
        let (listener, fetcher) = (Listener(), try fetcher(scene))
        fetcher.addDelegate(listener)
        fetcher.addDelegate(listener)
        fetcher.paginate()
        #expect(await eventually { await listener.changes.count == 1 })
        let counts = #""unread_notifications":{"notification_count":1,"highlight_count":0}"#
        await scene.next(
            Sync.answer("s2", Sync.room("!alpha", timeline: [Sync.message("$new", ts: 9)], more: counts)))
        #expect(await eventually { await listener.changes.last?.rooms == ["Delta", "Beta", "Alpha", "Gámma"] })
        await scene.next(Sync.answer("s3", #""rooms":{"leave":{"!beta":{}}}"#))
        #expect(await eventually { await listener.changes.last?.rooms == ["Delta", "Alpha", "Gámma"] })
        #expect(listener.changes.allSatisfy { $0.isTotalNew })
        fetcher.removeDelegate(listener)
        let count = listener.changes.count
        fetcher.fetchOptions.filterOptions.query = "delta"
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(listener.changes.count == count)
    }

    @Test func aMessageThatCannotBeSentShows() async throws {
        let scene = try await scene()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"errcode":"M_FORBIDDEN","error":"no"}"#, status: 403))
        let fetcher = try fetcher(scene)
        fetcher.paginate()
        let room = try #require(scene.session.room(withRoomId: "!alpha"))
        await #expect(throws: (any Error).self) { try await room.sendTextMessage("x") }
        #expect(await eventually { fetcher.data?.counts.numberOfUnsentRooms == 1 })
        #expect(names(fetcher) == ["Delta", "Alpha", "Beta", "Gámma"])
    }

    @Test func aDelegateOfAListThatNobodyKeepsIsReported() async throws {
        let lines = LogLines()
        let scene = try await scene { $0.logger = lines.logger }
        let fetcher = try fetcher(scene)
        await MainActor.run { fetcher.addDelegate(Listener()) }
        #expect(await eventually { lines.contains("warning a delegate is gone") })
        fetcher.stop()
    }
}
