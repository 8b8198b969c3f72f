import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Unread messages in threads, as counted by the server.
@Suite struct ThreadUnreadTests {
    private static func counts(_ main: Int, highlights: Int = 0, threads: [String: (Int, Int)] = [:]) -> String {
        let threads = threads.sorted { $0.key < $1.key }.map {
            #""\#($0.key)":{"notification_count":\#($0.value.0),"highlight_count":\#($0.value.1)}"#
        }
        let part = threads.isEmpty ? "" : #","unread_thread_notifications":{\#(threads.joined(separator: ","))}"#
        return Sync.room(
            more: #""unread_notifications":{"notification_count":\#(main),"highlight_count":\#(highlights)}"# + part)
    }

    private func told(_ script: ModelScript) -> Int {
        script.notices.count { if case .unreadChanged = $0 { true } else { false } }
    }

    @Test func theRoomsCountsHaveThoseOfItsThreads_andAThreadThatIsGoneIsRead() throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members), Self.counts(2, highlights: 1, threads: ["$1": (3, 1), "$2": (1, 0)]))
        #expect((script.room?.summary.notificationCount, script.room?.summary.highlightCount) == (6, 2))
        #expect(
            script.room?.summary.unreadThreads == [
                "$1": MXUnreadThread(notificationCount: 3, highlightCount: 1),
                "$2": MXUnreadThread(notificationCount: 1),
            ])
        #expect(told(script) == 1)
        // A thread's receipt removes its entry.
        try script.apply(Self.counts(2, highlights: 1, threads: ["$2": (1, 0)]))
        #expect(script.room?.summary.notificationCount == 3 && script.room?.summary.unreadThreads.count == 1)
        // An answer without counts changes nothing.
        try script.apply(Sync.room(timeline: [Sync.message("$m")]))
        #expect(script.room?.summary.notificationCount == 3 && script.room?.summary.unreadThreads.count == 1)
        try script.apply(Self.counts(0))
        #expect(script.room?.summary.notificationCount == 0 && script.room?.summary.unreadThreads.isEmpty == true)
    }

    @Test func countsThatOnlyMoveBetweenThreadsAreTold() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members), Self.counts(1, threads: ["$1": (2, 0)]))
        try script.apply(Self.counts(1, threads: ["$2": (2, 0)]))
        #expect(told(script) == 1)
        try script.apply(Self.counts(1, threads: ["$2": (2, 0)]))
        #expect(told(script) == 0)
    }

    @Test(
        arguments: [
            #"[]"#, #"7"#, #"{"$1":7}"#, #"{"$1":{}}"#, #"{"$1":{"notification_count":-4,"highlight_count":"x"}}"#,
            #"{"$1":{"notification_count":0,"highlight_count":0}}"#, #"{}"#, #"null"#,
        ])
    func malformedCountsAreNone(json: String) throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(
                more: #"""
                    "unread_notifications":{"notification_count":2,"highlight_count":0},
                    "unread_thread_notifications":\#(json)
                    """#))
        #expect(script.room?.summary.notificationCount == 2 && script.room?.summary.unreadThreads.isEmpty == true)
    }

    @Test func hugeCountsDoNotOverflow() throws {
        var script = try ModelScript()
        let threads = Dictionary(uniqueKeysWithValues: (0..<100).map { ("$\($0)", (Int.max, Int.max)) })
        try script.apply(Self.counts(.max, highlights: .max, threads: threads))
        #expect(script.room?.summary.notificationCount == 101 * Int(Int32.max))
    }

    @Test func readingEverythingReadsThreadsToo() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$9")]))
        try script.apply(Self.counts(1, threads: ["$1": (2, 1)]))
        _ = try script.model.tookReceipt("!r:s", upTo: "$9", threadId: nil, in: script.store)
        #expect(script.room?.summary.unreadThreads == [:] && script.room?.summary.notificationCount == 0)
    }

    @Test func aReceiptForAThreadTakesAwayWhatTheServerCountsInIt() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$9")]))
        try script.apply(Self.counts(1, highlights: 1, threads: ["$1": (2, 1), "$2": (4, 0)]))
        _ = try script.model.tookReceipt("!r:s", upTo: "$9", threadId: "$1", in: script.store)
        #expect(script.room?.summary.unreadThreads == ["$2": MXUnreadThread(notificationCount: 4)])
        #expect((script.room?.summary.notificationCount, script.room?.summary.highlightCount) == (5, 1))
        _ = try script.model.tookReceipt("!r:s", upTo: "$9", threadId: "main", in: script.store)
        #expect((script.room?.summary.notificationCount, script.room?.summary.highlightCount) == (4, 0))
        _ = try script.model.tookReceipt("!r:s", upTo: "$9", threadId: "$2", in: script.store)
        #expect(script.room?.summary.notificationCount == 0 && script.room?.summary.unreadThreads.isEmpty == true)
    }

    @Test func aSummaryKeepsThem_andOneOfAnOlderProgramHasNone() throws {
        var script = try ModelScript()
        try script.apply(Self.counts(1, threads: ["$1": (2, 1)]))
        let summary = try #require(script.room?.summary)
        let data = try JSONEncoder().encode(summary)
        #expect(try JSONDecoder().decode(MXRoomSummary.self, from: data) == summary)
        var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        object["threads"] = nil
        let old = try JSONDecoder().decode(
            MXRoomSummary.self, from: try JSONSerialization.data(withJSONObject: object))
        #expect(old.unreadThreads == [:] && old.notificationCount == 3)
    }

    @Test func aRoomOfTheServiceHasThem() throws {
        var script = try ModelScript()
        try script.apply(Self.counts(1, threads: ["$1": (2, 1)]))
        let room = MatrixRoom(try #require(script.room?.summary))
        #expect(room.unreadCount == 3 && room.highlightCount == 1)
        #expect(room.unreadThreads == ["$1": MXUnreadThread(notificationCount: 2, highlightCount: 1)])
    }
}
