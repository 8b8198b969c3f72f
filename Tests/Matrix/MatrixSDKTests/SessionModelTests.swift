import Basics
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

/// The effect of sync answers on a model, without a network.
struct ModelScript {
    var model: SessionModel
    let store = MXMemoryStore()
    var notices: [SessionNotice] = []

    init(userId: String = "@a:s") throws {
        model = SessionModel(userId: userId)
        _ = try store.open(userId: userId, deviceId: nil)
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

    mutating func loaded(_ list: [MXEvent], before: MXRoomMembers) -> MXStoreChanges? {
        model.membersLoaded("!r:s", list, before: before, of: room?.origin)
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
        // A receipt older than everything known here changes nothing.
        try script.apply(Sync.room(more: ModelScript.receipts(("$0", "m.read"))))
        #expect(script.unread == 1)
    }

    @Test func theServersCountsAreTakenOver_andItsChangesTold() throws {
        func counts(_ text: String) -> String { Sync.room(more: #""unread_notifications":{\#(text)}"#) }
        func told(_ script: ModelScript) -> Int {
            script.notices.count { if case .unreadChanged = $0 { true } else { false } }
        }
        var script = try ModelScript()
        try script.apply(counts(#""notification_count":2,"highlight_count":1"#))
        #expect((script.room?.summary.notificationCount, script.room?.summary.highlightCount) == (2, 1))
        #expect(told(script) == 0)  // a first sync notifies of nothing
        try script.apply(counts(#""notification_count":2"#))
        #expect(told(script) == 0)
        try script.apply(counts(#""notification_count":3"#))
        #expect(told(script) == 1)
        #expect((script.room?.summary.notificationCount, script.room?.summary.highlightCount) == (3, 1))
        try script.apply(counts(#""highlight_count":0"#))
        #expect(told(script) == 1)
        try script.apply(Sync.room(timeline: [Sync.message("$1")]))
        #expect(told(script) == 1)
        try script.apply(Sync.room())
        #expect(told(script) == 0)
    }

    @Test func receiptsAreStoredWithTimeAndThread() throws {
        var script = try ModelScript()
        let receipts = #"""
            "ephemeral":{"events":[{"type":"m.receipt","content":{"$1":{"m.read":{"@b:s":{"ts":7,"thread_id":"main"},
            "@c:s":{}},"m.read.private":{"@a:s":{"ts":-1}},"m.other":{"@d:s":{"ts":1}}}}}]}
            """#
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")], more: receipts))
        let stored = try Set(script.store.receipts(in: "!r:s"))
        #expect(
            stored == [
                MXReceipt(userId: "@b:s", eventId: "$1", threadId: "main", ts: 7),
                MXReceipt(userId: "@c:s", eventId: "$1"),
                MXReceipt(userId: "@a:s", eventId: "$1", type: "m.read.private"),
            ])
    }

    /// Only 200 events are searched for the read one: older ones count as read.
    @Test(arguments: [(199, 199), (200, 200), (201, 200)])
    func aReceiptForSomethingOldLeavesTwoHundredUnread(newer: Int, unread: Int) throws {
        var script = try ModelScript()
        let timeline = (0...newer).map { Sync.message("$\($0)") }
        try script.apply(
            Sync.room(state: Sync.members), Sync.room(timeline: timeline),
            Sync.room(more: ModelScript.receipts(("$0", "m.read"))))
        #expect(script.unread == unread)
    }

    // MARK: Summaries

    @Test func theServersSummaryCountsBeforeTheState() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members + [Sync.member("@c:s", "invite", name: "Carol")]))
        #expect((script.room?.summary.joinedMembersCount, script.room?.summary.invitedMembersCount) == (2, 1))
        #expect(script.room?.summary.membersCount == 3)
        try script.apply(Sync.room(more: #""summary":{"m.joined_member_count":10,"m.invited_member_count":5}"#))
        #expect((script.room?.summary.joinedMembersCount, script.room?.summary.invitedMembersCount) == (10, 5))
        #expect(script.room?.summary.displayName == "Bob and 13 others")
        try script.apply(Sync.room(more: #""summary":{"m.invited_member_count":6}"#))
        #expect((script.room?.summary.joinedMembersCount, script.room?.summary.invitedMembersCount) == (10, 6))
        try script.apply(Sync.room(more: #""summary":{"m.heroes":["@c:s"]}"#))
        #expect(script.room?.summary.displayName == "Carol and 14 others")
    }

    @Test func directRoomsAreThoseOfTheAccountData() throws {
        func direct(_ users: String) -> String {
            #""account_data":{"events":[{"type":"m.direct","content":{\#(users)}}]}"#
        }
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members), direct(#""@b:s":["!r:s","!other:s"]"#))
        #expect(script.room?.summary.isDirect == true)
        #expect(script.room?.summary.directUserId == "@b:s")
        #expect(script.notices.contains { if case .directRoomsChanged = $0 { true } else { false } })
        try script.apply(direct(#""@b:s":["!r:s"]"#))
        #expect(!script.notices.contains { if case .summaryChanged = $0 { true } else { false } })
        try script.apply(direct(#""@c:s":["!r:s"]"#))
        #expect(script.room?.summary.directUserId == "@c:s")
        try script.apply(direct(""))
        #expect(script.room?.summary.isDirect == false)
        #expect(script.room?.summary.directUserId == nil)
    }

    @Test func aSummaryIsToldAndStoredWhenItChangesAndOnlyThen() throws {
        var script = try ModelScript()
        func isTold() -> Bool { script.notices.contains { if case .summaryChanged = $0 { true } else { false } } }
        try script.apply(Sync.room(state: Sync.members))
        #expect(isTold())
        try script.apply(
            Sync.room(more: #""ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":["@b:s"]}}]}"#))
        #expect(!isTold())
        try script.apply(Sync.room(more: #""unread_notifications":{"notification_count":3}"#))
        #expect(isTold())
        let answer = #"{"next_batch":"s","# + Sync.room(more: #""unread_notifications":{"notification_count":4}"#) + "}"
        let applied = try script.model.apply(SyncResponse(Array(answer.utf8)), store: script.store, now: .now)
        #expect(applied.changes.rooms["!r:s"]?.summary?.notificationCount == 4)
    }

    @Test func anInvitationSaysWhoInvited() throws {
        var script = try ModelScript()
        let invitation = #"""
            {"type":"m.room.member","sender":"@b:s","state_key":"@a:s","content":{"membership":"invite","is_direct":true}}
            """#
        func invite(_ room: String) -> String {
            #""rooms":{"invite":{"\#(room)":{"invite_state":{"events":[\#(invitation)]}}}}"#
        }
        try script.apply(#""presence":{}"#, invite("!r:s"))
        #expect(script.room?.summary.membership == .invite)
        #expect(script.room?.summary.inviter == "@b:s")
        #expect(script.room?.summary.isDirect == true)
        let told = script.notices.compactMap {
            if case .invited(let room, let user) = $0 { [room, user] } else { nil }
        }
        #expect(told == [["!r:s", "@b:s"]])
        try script.apply(invite("!r:s"))
        #expect(!script.notices.contains { if case .invited = $0 { true } else { false } })
    }

    @Test func tagsAndMarksOfARoomAreTakenOver() throws {
        func data(_ type: String, _ content: String) -> String {
            Sync.room(more: #""account_data":{"events":[{"type":"\#(type)","content":\#(content)}]}"#)
        }
        var script = try ModelScript()
        try script.apply(
            data("m.tag", #"{"tags":{"m.favourite":{"order":0.5},"u.a":{"order":"0.25"},"u.b":{}}}"#),
            data("m.fully_read", #"{"event_id":"$1"}"#), data("m.marked_unread", #"{"unread":true}"#))
        let summary = try #require(script.room?.summary)
        #expect(summary.tags == ["m.favourite": 0.5, "u.a": 0.25, "u.b": Double?.none])
        #expect(summary.favoriteTagOrder == 0.5)
        #expect(summary.fullyReadEventId == "$1" && summary.isMarkedUnread)
        #expect(script.room?.accountData["m.tag"] != nil)
        try script.apply(data("com.famedly.marked_unread", "{}"), data("m.tag", #"{"tags":{"m.favourite":{}}}"#))
        #expect(script.room?.summary.isMarkedUnread == false)
        #expect(script.room?.summary.tags == ["m.favourite": Double?.none])
        #expect(script.room?.summary.favoriteTagOrder == 0)
    }

    @Test func theLastMessageIsTheNewestThatAListShows() throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members, timeline: [Sync.message("$1", ts: 11), Sync.message("$2", ts: 12)]),
            Sync.room(timeline: [Sync.reaction("$x", to: "$2")]))
        #expect((script.room?.summary.lastMessageId, script.room?.summary.lastMessageTs) == ("$2", 12))
        func redaction(_ id: String, of target: String) -> String {
            #"{"type":"m.room.redaction","event_id":"\#(id)","sender":"@b:s","redacts":"\#(target)","content":{}}"#
        }
        try script.apply(Sync.room(timeline: [redaction("$r1", of: "$1")]))
        #expect(script.room?.summary.lastMessageId == "$2")
        try script.apply(Sync.room(timeline: [Sync.message("$3", ts: 13), redaction("$r2", of: "$2")]))
        #expect(script.room?.summary.lastMessageId == "$3")
        try script.apply(Sync.room(timeline: [redaction("$r3", of: "$3")]))
        #expect((script.room?.summary.lastMessageId, script.room?.summary.lastMessageTs) == (nil, 0))
        // A message and its redaction in one answer: it is stored redacted.
        try script.apply(Sync.room(timeline: [Sync.message("$4"), redaction("$r4", of: "$4")]))
        #expect(try script.store.event("$4", in: "!r:s")?.isRedacted == true)
        #expect(script.room?.summary.lastMessageId == nil)
        try script.apply(
            Sync.room(timeline: [
                Sync.message("$5"), Sync.message("$6"), redaction("$r5", of: "$5"), redaction("$r6", of: "$6"),
            ]))
        #expect(script.room?.summary.lastMessageId == nil)
    }

    /// The application lists its rooms after the first sync.
    @Test func theFirstSyncTellsNeitherOfRoomsNorOfUnreadMessages() throws {
        func told(_ script: ModelScript) -> [String] {
            script.notices.compactMap { notice in
                switch notice {
                case .joined(let id): "joined \(id)"
                case .unreadChanged(let summary): "unread \(summary.roomId)"
                case .live, .ephemeral, .roomAccountData, .accountData, .presence, .toDevice, .invited, .knocked, .left,
                    .gap, .changed, .relationsChanged, .echoConfirmed, .summaryChanged, .directRoomsChanged,
                    .ignoredUsersChanged, .decrypted, .encryption:
                    nil
                }
            }
        }
        let unread = #""unread_notifications":{"notification_count":2,"highlight_count":1}"#
        var script = try ModelScript()
        try script.apply(Sync.room("!1:s", state: Sync.members, more: unread))
        #expect(told(script) == [])
        #expect(script.model.rooms["!1:s"]?.summary.notificationCount == 2)
        try script.apply(Sync.room("!2:s", state: Sync.members, more: unread))
        #expect(told(script) == ["joined !2:s", "unread !2:s"])
        try script.apply(Sync.room("!2:s", timeline: [Sync.message("$1")], more: unread))
        #expect(told(script) == ["unread !2:s"])
        try script.apply(Sync.room("!2:s", timeline: [Sync.message("$2", sender: "@a:s")], more: unread))
        #expect(told(script) == ["unread !2:s"])
        try script.apply(Sync.room("!2:s", timeline: [Sync.message("$3", sender: "@a:s")], more: unread))
        #expect(told(script) == [])
    }

    @Test func ofStoredMessagesTheOneBeforeTheRedactedIsTheLast_alsoAcrossAGap() throws {
        func redaction(_ id: String, of target: String) -> String {
            #"{"type":"m.room.redaction","event_id":"\#(id)","sender":"@b:s","redacts":"\#(target)","content":{}}"#
        }
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members, timeline: [Sync.message("$1", ts: 11)]),
            Sync.room(timeline: [Sync.message("$2", ts: 12)]), Sync.room(timeline: [redaction("$r2", of: "$2")]))
        #expect((script.room?.summary.lastMessageId, script.room?.summary.lastMessageTs) == ("$1", 11))
        try script.apply(Sync.room(timeline: [Sync.message("$9"), redaction("$r9", of: "$9")], isLimited: true))
        #expect((script.room?.summary.lastMessageId, script.room?.summary.lastMessageTs) == ("$1", 11))
    }

    @Test func whatCameBeforeIsNeitherToldNorCountedAgain() throws {
        var script = try ModelScript()
        let live = { (script: ModelScript) in script.notices.count { if case .live = $0 { true } else { false } } }
        try script.apply(
            Sync.room(state: Sync.members), Sync.room(timeline: [Sync.message("$1")]))
        #expect(live(script) == 1 && script.unread == 1)
        try script.apply(Sync.room(timeline: [Sync.message("$1"), Sync.message("$2"), Sync.message("$2")]))
        #expect(live(script) == 1 && script.unread == 2)
        #expect(try script.store.events(in: "!r:s", before: nil, limit: 9).map(\.eventId) == ["$2", "$1"])
    }

    @Test func aRoomBeginsWithNothingToRead() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members))
        let summary = try #require(script.room?.summary)
        #expect((summary.notificationCount, summary.highlightCount, summary.localUnreadEventCount) == (0, 0, 0))
        #expect(!summary.isMarkedUnread && summary.lastMessageId == nil && summary.lastMessageTs == 0)
        #expect(summary.membership == .join && !summary.isDirect && !summary.isEncrypted)
    }

    // MARK: Pages

    @Test func olderEventsGoBehindTheStoredOnes_withWhereItGoesOn() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$2")], prevBatch: "p2"))
        #expect(script.room?.summary.paginationToken == "p2")
        let older = try Self.event(Sync.message("$1"))
        let changes = script.model.paginated(
            "!r:s", older: [older], token: "p1", members: [], hasLastMessage: true)
        #expect(changes.rooms["!r:s"]?.older.map(\.eventId) == ["$1"])
        #expect(changes.rooms["!r:s"]?.olderToken == "p1")
        #expect(changes.rooms["!r:s"]?.summary?.paginationToken == "p1")
        #expect(script.room?.summary.paginationToken == "p1")
        script.model.trimmed("!r:s", token: "p2")
        #expect(script.room?.summary.paginationToken == "p2")
    }

    @Test func whatOthersSayIsAskedForOnce() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1"), Sync.message("$2")]))
        #expect(script.model.needsRelations(of: "$1", in: "!r:s"))
        #expect(!script.model.needsRelations(of: "$1", in: "!other:s"))
        script.model.add(
            relations: ["$1": [try Self.event(Sync.reaction("$x", to: "$1"))]], ofEach: ["$1"], in: "!r:s")
        #expect(!script.model.needsRelations(of: "$1", in: "!r:s"))
        #expect(script.model.needsRelations(of: "$2", in: "!r:s"))
        #expect(script.model.note([try Self.event(Sync.reaction("$y", to: "$2"))], in: "!r:s") == ["$2"])
        #expect(script.model.redacted("$y", in: "!r:s") == "$2")
        #expect(script.model.redacted("$none", in: "!r:s") == nil)
    }

    // MARK: Members

    private static func event(_ json: String) throws -> MXEvent {
        try #require(MXEvent(data: Data(json.utf8), roomId: "!r:s"))
    }

    @Test func membersOfAnEarlierTimeAreNoMembers() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members))
        let page = try Self.event(Sync.member("@c:s", name: "Carol"))
        let changes = script.model.paginated(
            "!r:s", older: [], token: "p", members: [page], hasLastMessage: true)
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
        let loaded = script.loaded(list, before: before)
        let changes = try #require(loaded)
        try script.store.commit(changes)
        let members = try #require(script.room?.state?.members)
        #expect(Set(members.joinedMembers.map(\.userId)) == ["@a:s", "@b:s", "@d:s", "@e:s", "@comes:s"])
        #expect(members.member(withUserId: "@goes:s")?.membership == .leave)
        #expect(members.member(withUserId: "@left:s")?.membership == .leave)
        #expect(members.member(withUserId: "@stale:s") == nil)
        let stored = try script.store.state(of: "!r:s").compactMap(\.stateKey)
        #expect(Set(stored) == ["@a:s", "@b:s", "@d:s", "@e:s", "@comes:s", "@goes:s", "@left:s"])
        // The name is derived from the members, so it changes at once.
        #expect(script.room?.summary.displayName == "Bob and 3 others")
    }

    // MARK: Replaced rooms

    @Test func aReplacedRoomIsHiddenWhileWeAreInTheOneThatReplacesIt() throws {
        var script = try ModelScript()
        let tombstone = #"""
            {"type":"m.room.tombstone","event_id":"$t","sender":"@b:s","state_key":"",
            "content":{"replacement_room":"!new:s"}}
            """#
        try script.apply(Sync.room(state: Sync.members))
        #expect(script.room?.summary.hiddenFromUser == false)
        try script.apply(Sync.room(timeline: [tombstone]))
        #expect(script.room?.summary.hiddenFromUser == false)
        try script.apply(#""presence":{}"#, Sync.room("!new:s", state: Sync.members))
        #expect(script.room?.summary.hiddenFromUser == true)
        try script.apply(#""presence":{}"#, #""rooms":{"leave":{"!new:s":{}}}"#)
        #expect(script.room?.summary.hiddenFromUser == false)
        // Both in one answer.
        var other = try ModelScript()
        let both = #"""
            "rooms":{"join":{"!r:s":{"state":{"events":[\#(tombstone)]}},"!new:s":{"state":{"events":[]}}}}
            """#
        try other.apply(both)
        #expect(other.room?.summary.hiddenFromUser == true)
    }
}
