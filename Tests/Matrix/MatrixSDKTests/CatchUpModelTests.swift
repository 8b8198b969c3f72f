import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

/// Reports about an answer that begins after the stored position.
@Suite struct CatchUpModelTests {
    private static let leaving = Sync.member("@a:s", "leave", id: "$leave")

    private func told(_ timeline: [String]) throws -> [String] {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members))
        let left = Sync.room(timeline: timeline).replacingOccurrences(of: #""join""#, with: #""leave""#)
        try script.apply(left)
        #expect(script.room == nil)
        let again = try SyncResponse(Array((#"{"next_batch":"s9","# + left + "}").utf8))
        let applied = try script.model.apply(again, store: script.store, now: .now, tellsKnown: true)
        return applied.notices.compactMap { notice in
            if case .gap = notice { "gap" } else if case .left = notice { "left" } else { nil }
        }
    }

    @Test func ofARoomThatTheStoreKnowsAsLeftAGapIsTold_ifSomethingWasSaidBefore() throws {
        #expect(try told([Sync.message("$1"), Self.leaving]) == ["gap", "left"])
        #expect(try told([Self.leaving]) == ["left"])
    }

    /// The store does not yet know that the room was left and joined again.
    @Test func aRoomThatWasLeftAndJoinedAgainHasAGapInItsTimeline() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        let rejoined = Sync.room(
            state: Sync.members, timeline: [Sync.member("@a:s", id: "$join"), Sync.message("$9")], isLimited: true,
            prevBatch: "p9")
        let answer = try SyncResponse(Array((#"{"next_batch":"s9","# + rejoined + "}").utf8))
        let applied = try script.model.apply(answer, store: script.store, now: .now, tellsKnown: true)
        try script.store.commit(applied.changes)
        #expect(try script.store.events(in: "!r:s", before: nil, limit: 9).map(\.eventId) == ["$9", "$join"])
        #expect(script.room?.summary.paginationToken == "p9")
    }

    @Test func whatWasSaidBeforeWeJoinedAgainIsNotUnread() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1", sender: "@a:s")]))
        let timeline = [Sync.message("$2"), Sync.message("$3"), Sync.member("@a:s", id: "$join"), Sync.message("$4")]
        let rejoined = Sync.room(state: Sync.members, timeline: timeline, isLimited: true, prevBatch: "p")
        let answer = try SyncResponse(Array((#"{"next_batch":"s9","# + rejoined + "}").utf8))
        _ = try script.model.apply(answer, store: script.store, now: .now, tellsKnown: true)
        #expect(script.unread == 1)
    }
}
