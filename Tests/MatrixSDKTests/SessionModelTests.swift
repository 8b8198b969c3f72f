import Foundation
import MatrixProtocol
import MatrixSDK
import Testing

/// What answers to syncs make of a model, without a network.
struct ModelScript {
    var model = SessionModel(userId: "@a:s")
    let store = MXMemoryStore()
    var notices: [SessionNotice] = []

    init() throws {
        _ = try store.open(userId: "@a:s", deviceId: nil)
    }

    var room: RoomModel? { model.rooms["!r:s"] }
    var unread: Int? { room?.summary.localUnreadEventCount }

    mutating func apply(_ answer: String...) throws {
        notices = []
        for (index, part) in answer.enumerated() {
            let text = #"{"next_batch":"s\#(index)","# + part + "}"
            let applied = try model.apply(try SyncResponse(Array(text.utf8)), store: store, now: .now)
            try store.commit(applied.changes)
            notices += applied.notices
        }
    }

    static func create(version: String) -> String {
        #"""
        {"type":"m.room.create","event_id":"$create","sender":"@b:s","state_key":"",
        "content":{"room_version":"\#(version)"}}
        """#
    }

    static func receipts(_ receipts: (event: String, type: String)...) -> String {
        let parts = receipts.map { #""\#($0.event)":{"\#($0.type)":{"@a:s":{"ts":1}}}"# }
        return #""ephemeral":{"events":[{"type":"m.receipt","content":{\#(parts.joined(separator: ","))}}]}"#
    }
}

@Suite struct SessionModelTests {
    // MARK: Redactions

    @Test(
        arguments: [
            ("10", #""redacts":"$1","content":{}"#, true), ("10", #""content":{"redacts":"$1"}"#, false),
            ("11", #""content":{"redacts":"$1"}"#, true), ("11", #""redacts":"$1","content":{}"#, true),
            ("10", #""redacts":"$2","content":{"redacts":"$1"}"#, false),
            ("12", #""redacts":"$2","content":{"redacts":"$1"}"#, true),
        ] as [(String, String, Bool)])
    func whereARedactionNamesItsEventDependsOnTheRoomVersion(version: String, form: String, isRedacted: Bool) throws {
        var script = try ModelScript()
        let redaction = #"{"type":"m.room.redaction","event_id":"$r","sender":"@b:s",\#(form)}"#
        try script.apply(
            Sync.room(state: [ModelScript.create(version: version)] + Sync.members),
            Sync.room(timeline: [Sync.message("$1"), Sync.reaction("$x", to: "$1")]), Sync.room(timeline: [redaction]))
        #expect(try script.store.event("$1", in: "!r:s")?.isRedacted == isRedacted)
        let original = try script.store.event("$1", in: "!r:s")
        let aggregations = script.room?.relations.aggregations(
            forEvent: "$1", original: original, currentUser: "@a:s")
        #expect((aggregations == nil) == isRedacted)
    }

    @Test func aStateEventOlderThanTheTimelineCanBeRedacted() throws {
        var script = try ModelScript()
        let topic = #"""
            {"type":"m.room.topic","event_id":"$t","sender":"@b:s","state_key":"","content":{"topic":"bad words"}}
            """#
        let redaction = #"{"type":"m.room.redaction","event_id":"$r","sender":"@b:s","redacts":"$t","content":{}}"#
        try script.apply(Sync.room(state: Sync.members + [topic]))
        #expect(script.room?.summary.topic == "bad words")
        try script.apply(Sync.room(timeline: [redaction]))
        #expect(script.room?.summary.topic == nil)
        let stored = try script.store.state(of: "!r:s").first { $0.type == "m.room.topic" }
        #expect(stored?.isRedacted == true && stored?.contentJSON["topic"] == nil)
    }

    // MARK: Unread counts

    @Test(arguments: [["$1", "$3"], ["$3", "$1"]])
    func ofSeveralReceiptsTheNewestPositionCounts(events: [String]) throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members), Sync.room(timeline: (1...4).map { Sync.message("$\($0)") }),
            Sync.room(more: ModelScript.receipts((events[0], "m.read"), (events[1], "m.read.private"))))
        #expect(script.unread == 1)
    }

    @Test func anOlderReceiptMakesNothingUnread() throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members), Sync.room(timeline: (1...4).map { Sync.message("$\($0)") }),
            Sync.room(more: ModelScript.receipts(("$4", "m.read"))),
            Sync.room(more: ModelScript.receipts(("$2", "m.read.private"))))
        #expect(script.unread == 0)
    }

    @Test func whatWasSaidBeforeWeJoinedIsNotUnread() throws {
        var script = try ModelScript()
        let timeline = [Sync.message("$1"), Sync.message("$2"), Sync.member("@a:s"), Sync.message("$3")]
        try script.apply(#""presence":{}"#, Sync.room(state: [Sync.member("@b:s")], timeline: timeline))
        #expect(script.unread == 1)
        // A receipt for what is older than all that is here changes nothing.
        try script.apply(Sync.room(more: ModelScript.receipts(("$0", "m.read"))))
        #expect(script.unread == 1)
    }

    // MARK: Members

    private static func event(_ json: String) throws -> MXEvent {
        try #require(MXEvent(data: Data(json.utf8), roomId: "!r:s"))
    }

    @Test func membersOfAnEarlierTimeAreNoMembers() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members))
        let page = try Self.event(Sync.member("@c:s", name: "Carol"))
        let changes = script.model.paginated("!r:s", older: [], token: "p", members: [page])
        #expect(script.room?.state?.members.count == 2)
        #expect(script.room?.earlierMembers["@c:s"] == page)
        #expect(changes.rooms["!r:s"]?.state.isEmpty == true)
    }

    @Test func theListOfMembersTakesThePlaceOfWhatWasKnown_butNotOfWhatASyncHasBroughtSince() throws {
        var script = try ModelScript()
        let gone = Sync.member("@left:s", "leave")
        try script.apply(
            Sync.room(state: Sync.members + [Sync.member("@stale:s"), Sync.member("@goes:s"), gone]))
        let before = try #require(script.room?.state?.members)
        try script.apply(
            Sync.room(timeline: [Sync.member("@goes:s", "leave", id: "$l"), Sync.member("@comes:s", id: "$c")]))
        let list = try ["@a:s", "@b:s", "@goes:s", "@d:s", "@e:s"].map { try Self.event(Sync.member($0, name: "N")) }
        let changes = script.model.membersLoaded("!r:s", list, before: before)
        try script.store.commit(changes)
        let members = try #require(script.room?.state?.members)
        #expect(Set(members.joinedMembers.map(\.userId)) == ["@a:s", "@b:s", "@d:s", "@e:s", "@comes:s"])
        #expect(members.member(withUserId: "@goes:s")?.membership == .leave)
        #expect(members.member(withUserId: "@left:s")?.membership == .leave)
        #expect(members.member(withUserId: "@stale:s") == nil)
        let stored = try script.store.state(of: "!r:s").compactMap(\.stateKey)
        #expect(Set(stored) == ["@a:s", "@b:s", "@d:s", "@e:s", "@comes:s", "@goes:s", "@left:s"])
        // The name is made of the members: it is new at once.
        #expect(script.room?.summary.displayName == "Bob and 3 others")
    }

    // MARK: Rooms that were replaced

    @Test func aReplacedRoomIsHiddenWhileWeAreInTheOneThatReplacesIt() throws {
        var script = try ModelScript()
        let tombstone = #"""
            {"type":"m.room.tombstone","event_id":"$t","sender":"@b:s","state_key":"",
            "content":{"replacement_room":"!new:s"}}
            """#
        try script.apply(Sync.room(state: Sync.members), Sync.room(timeline: [tombstone]))
        #expect(script.room?.summary.hiddenFromUser == false)
        try script.apply(#""presence":{}"#, Sync.room("!new:s", state: Sync.members))
        #expect(script.room?.summary.hiddenFromUser == true)
        try script.apply(#""presence":{}"#, #""rooms":{"leave":{"!new:s":{}}}"#)
        #expect(script.room?.summary.hiddenFromUser == false)
        // All at once.
        var other = try ModelScript()
        let both = #"""
            "rooms":{"join":{"!r:s":{"state":{"events":[\#(tombstone)]}},"!new:s":{"state":{"events":[]}}}}
            """#
        try other.apply(both)
        #expect(other.room?.summary.hiddenFromUser == true)
    }
}
