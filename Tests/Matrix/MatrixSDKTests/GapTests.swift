import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import TestSupport
import Testing

/// Gaps that meet other things: pending messages, known events, the last message.
@Suite struct GapTests {
    // MARK: Pending messages

    private func outgoing(state: MXEvent.SentState) -> MXOutgoingEvent {
        MXOutgoingEvent(
            transactionId: "t1", roomId: "!r:s", type: "m.room.message", content: #"{"msgtype":"m.text","body":"hi"}"#,
            localEventId: "\(MXEvent.localEventIdPrefix)1", ts: 5, state: state)
    }

    private static func own(_ id: String, transaction: String? = nil) -> String {
        let unsigned = transaction.map { #","unsigned":{"transaction_id":"\#($0)"}"# } ?? ""
        return #"""
            {"type":"m.room.message","event_id":"\#(id)","sender":"@a:s","origin_server_ts":9,
            "content":{"msgtype":"m.text","body":"hi"}\#(unsigned)}
            """#
    }

    private static let gap = Sync.room(timeline: [Sync.message("$9")], isLimited: true, prevBatch: "p9")

    /// A message in this state when a gap comes, confirmed after it.
    private func confirmedAfterGap(_ state: MXEvent.SentState) throws -> ModelScript {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        var changes = MXStoreChanges()
        changes.outgoing = [outgoing(state: state)]
        script.model.add(outgoing: outgoing(state: state))
        try script.store.commit(changes)
        try script.apply(Self.gap)
        let confirmed = script.model.confirm(outgoing(state: .sending), as: "$sent", isStored: false)
        try script.store.commit(#require(confirmed))
        #expect(script.room?.outgoing.map(\.eventId) == ["$sent"])
        return script
    }

    @Test(arguments: [MXEvent.SentState.sending, .failed])
    func aMessageThatIsConfirmedAfterAGap_doesNotStayForEver(state: MXEvent.SentState) throws {
        var script = try confirmedAfterGap(state)
        try script.apply(Sync.room(timeline: [Sync.message("$10")]))
        #expect(script.room?.outgoing.isEmpty == true)
        #expect(script.notices.contains { if case .summaryChanged = $0 { true } else { false } })
    }

    @Test func aMessageThatIsConfirmedAfterAGap_staysUntilTheNextAnswer_andComesOnce() throws {
        var script = try confirmedAfterGap(.sending)
        try script.apply(Sync.room(timeline: [Self.own("$sent", transaction: "t1")]))
        #expect(script.room?.outgoing.isEmpty == true)
        #expect(script.notices.count { if case .live = $0 { true } else { false } } == 1)
    }

    @Test func howFarAMessageHasComeDoesNotHideThatItMetAGap() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        script.model.add(outgoing: outgoing(state: .preparing))
        try script.apply(Self.gap)
        let updated = script.model.update(outgoing: outgoing(state: .sending))
        #expect(updated?.hasMetGap == true && updated?.state == .sending)
        _ = script.model.confirm(outgoing(state: .sending), as: "$sent", isStored: false)
        try script.apply(Sync.room(timeline: [Sync.message("$10")]))
        #expect(script.room?.outgoing.isEmpty == true)
    }

    @Test func thatAMessageMetAGapIsStored_andReadFromWhatAnOlderVersionStored() throws {
        var event = outgoing(state: .failed)
        let old = try JSONEncoder().encode(event)
        #expect(try JSONDecoder().decode(MXOutgoingEvent.self, from: old) == event)
        event.hasMetGap = true
        #expect(try JSONDecoder().decode(MXOutgoingEvent.self, from: JSONEncoder().encode(event)).hasMetGap)
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        script.model.add(outgoing: outgoing(state: .failed))
        let answer = #"{"next_batch":"s9","# + Self.gap + "}"
        let applied = try script.model.apply(SyncResponse(Array(answer.utf8)), store: script.store, now: .now)
        #expect(applied.changes.outgoing.map(\.hasMetGap) == [true])
    }

    /// Matched by its transaction ID, or by its event ID where the server omits that.
    @Test(arguments: ["t1", nil])
    func aPageThatBringsOurMessageTakesItsPlace(transaction: String?) throws {
        var script = try confirmedAfterGap(.sending)
        let page = [try Self.event(Self.own("$sent", transaction: transaction))]
        let changes = script.model.paginated("!r:s", older: page, token: "p8", members: [], hasLastMessage: true)
        #expect(script.room?.outgoing.isEmpty == true)
        #expect(changes.sentOutgoing == ["t1"])
    }

    @Test func aFailedMessageThatTheServerHasGoesWhenAPageBringsIt() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        script.model.add(outgoing: outgoing(state: .failed))
        try script.apply(Self.gap)
        let page = [try Self.event(Self.own("$sent", transaction: "t1"))]
        _ = script.model.paginated("!r:s", older: page, token: "p8", members: [], hasLastMessage: true)
        #expect(script.room?.outgoing.isEmpty == true)
    }

    private static func event(_ json: String) throws -> MXEvent {
        try #require(MXEvent(data: Data(json.utf8), roomId: "!r:s"))
    }

    // MARK: Overlapping timelines

    private func told(_ script: ModelScript) -> [String] {
        script.notices.compactMap { if case .live(let live) = $0 { live.event.eventId } else { nil } }
    }

    private func gaps(_ script: ModelScript) -> Int {
        script.notices.count { if case .gap = $0 { true } else { false } }
    }

    private func stored(_ script: ModelScript) throws -> [String] {
        try script.store.events(in: "!r:s", before: nil, limit: 99).map(\.eventId).reversed()
    }

    private static func joining(_ id: String, after: String) -> String {
        #"""
        {"type":"m.room.member","event_id":"\#(id)","sender":"@a:s","state_key":"@a:s","origin_server_ts":1,
        "content":{"membership":"join"},"unsigned":{"prev_content":{"membership":"\#(after)"}}}
        """#
    }

    /// A user who leaves and rejoins between two syncs receives the newest events, including known ones.
    @Test func aLimitedTimelineThatOverlapsIsNoGap_andTellsOnlyWhatIsNew() throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members, timeline: [Sync.message("$0")], prevBatch: "p0"),
            Sync.room(timeline: [Sync.message("$1"), Sync.message("$2")], prevBatch: "p1"))
        #expect(script.unread == 3)
        let leaving = Sync.member("@a:s", "leave", id: "$leave")
        let timeline = [
            Sync.message("$1"), Sync.message("$2"), leaving, Self.joining("$join", after: "leave"), Sync.message("$3"),
        ]
        try script.apply(Sync.room(state: Sync.members, timeline: timeline, isLimited: true, prevBatch: "p1"))
        #expect(told(script) == ["$leave", "$join", "$3"])
        #expect(gaps(script) == 0)
        #expect(try stored(script) == ["$0", "$1", "$2", "$leave", "$join", "$3"])
        #expect(script.room?.summary.paginationToken == "p0")
        #expect(script.unread == 4)
    }

    @Test func whatALimitedTimelineHasBeforeKnownEvents_isOlderThanThey_andNotNews() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$2")], prevBatch: "p2"))
        let timeline = [Sync.message("$1"), Sync.message("$2"), Sync.message("$3")]
        try script.apply(Sync.room(timeline: timeline, isLimited: true, prevBatch: "p1"))
        #expect(told(script) == ["$3"])
        #expect(try stored(script) == ["$2", "$3"])
        #expect(script.room?.summary.paginationToken == "p2")
    }

    /// Otherwise the timeline would be cut there, and continue at the server where more is missing.
    @Test func theTokenOfATimelineWhoseFirstEventsAreKnownIsNotThatOfTheFirstNewOne() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")], prevBatch: "p1"))
        func token(_ timeline: [String]) throws -> String? {
            let answer =
                #"{"next_batch":"s","# + Sync.room(timeline: timeline.map { Sync.message($0) }, prevBatch: "p") + "}"
            var model = script.model
            let applied = try model.apply(SyncResponse(Array(answer.utf8)), store: script.store, now: .now)
            return applied.changes.rooms["!r:s"]?.timelineToken
        }
        #expect(try token(["$1", "$2"]) == nil)
        #expect(try token(["$2"]) == "p")
    }

    /// With lazily loaded members, no event reports who has left meanwhile.
    @Test(arguments: [true, false])
    func aRoomThatIsToldAsAWholeAgainForgetsWhoWasInIt(isAfter: Bool) throws {
        var script = try ModelScript()
        let create = ModelScript.create(version: "12")
        try script.apply(Sync.room(state: [create, Sync.member("@c:s", name: "Carol")] + Sync.members))
        let section =
            #""rooms":{"join":{"!r:s":{"\#(isAfter ? "state_after" : "state")":{"events":["# + create + ","
            + Sync.member("@a:s", id: "$again") + #"]},"timeline":{"limited":true,"prev_batch":"p","events":["#
            + Sync.message("$9") + "]}}}}"
        try script.apply(section)
        let known = try script.store.state(of: "!r:s").compactMap { $0.type == "m.room.member" ? $0.stateKey : nil }
        #expect(known == ["@a:s"])
        #expect(script.room?.state?.members.joinedMembers.map(\.userId) == ["@a:s"])
        #expect(script.room?.state?.event(type: "m.room.create") != nil)
        #expect(try script.store.state(of: "!r:s").count == 2)
    }

    @Test func theStateOfATimelineThatOverlapsIsThatOfItsEnd() throws {
        func topic(_ id: String, _ text: String) -> String {
            #"{"type":"m.room.topic","event_id":"\#(id)","sender":"@b:s","state_key":"","content":{"topic":"\#(text)"}}"#
        }
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members + [topic("$t0", "old")]), Sync.room(timeline: [topic("$t1", "new")]))
        let leaving = Sync.member("@a:s", "leave", id: "$leave")
        try script.apply(
            Sync.room(
                state: Sync.members + [topic("$t0", "old")],
                timeline: [topic("$t1", "new"), leaving, Self.joining("$join", after: "leave")], isLimited: true))
        #expect(script.room?.summary.topic == "new")
        #expect(try script.store.state(of: "!r:s").first { $0.type == "m.room.topic" }?.eventId == "$t1")
    }

    /// The answer to an earlier request lacks everything between the two starts.
    @Test func aListOfMembersFromBeforeARoomIsToldAsAWholeAgainIsVoid() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: [ModelScript.create(version: "12")] + Sync.members))
        let (origin, before) = (script.room?.origin, script.room?.state?.members ?? MXRoomMembers())
        let list = try Sync.members.map { try Self.event($0) }
        var other = script
        #expect(other.model.membersLoaded("!r:s", list, before: before, of: origin) != nil)
        script.model.forgetSyncToken()
        let answer = #"{"next_batch":"t1","# + Sync.room(state: [Sync.member("@c:s")] + Sync.members) + "}"
        _ = try script.model.apply(SyncResponse(Array(answer.utf8)), store: script.store, now: .now)
        #expect(script.model.membersLoaded("!r:s", list, before: before, of: origin) == nil)
        #expect(script.room?.summary.membersAreComplete == false)
    }

    @Test(.rule("R16")) func afterAGapTheMembersAreAskedForAgain() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: [ModelScript.create(version: "12")] + Sync.members))
        let (origin, before) = (script.room?.origin, script.room?.state?.members ?? MXRoomMembers())
        _ = script.model.membersLoaded(
            "!r:s", try Sync.members.map { try Self.event($0) }, before: before, of: origin)
        #expect(script.room?.summary.membersAreComplete == true)
        try script.apply(Sync.room(timeline: [Sync.message("$9")]))
        #expect(script.room?.summary.membersAreComplete == true)
        try script.apply(Sync.room(timeline: [Sync.message("$10")], isLimited: true, prevBatch: "p9"))
        #expect(script.room?.summary.membersAreComplete == false)
    }

    @Test func whenAllBeginsAnewAnEncryptedRoomStaysSo() throws {
        let encryption = #"""
            {"type":"m.room.encryption","event_id":"$e","sender":"@b:s","state_key":"",
            "content":{"algorithm":"m.megolm.v1.aes-sha2"}}
            """#
        var script = try ModelScript()
        try script.apply(Sync.room(state: [encryption] + Sync.members))
        #expect(script.room?.summary.isEncrypted == true)
        script.model.forgetSyncToken()
        try script.apply(Sync.room(state: Sync.members))
        #expect(script.room?.summary.isEncrypted == true)
    }

    // MARK: Redactions

    @Test func aPageThatWasAskedForBeforeARedactionBringsNothingOfWhatThatTook() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$2")], prevBatch: "p"))
        try script.apply(Sync.room(timeline: [Self.redaction("$r", of: "$1")]))
        let page = [try Self.event(Sync.message("$1", "bad words"))]
        let changes = script.model.paginated("!r:s", older: page, token: nil, members: [], hasLastMessage: true)
        try script.store.commit(changes)
        let event = try script.store.event("$1", in: "!r:s")
        #expect(event?.isRedacted == true && event?.body == nil)
    }

    @Test func ofSeveralThatAreRedactedAtOnceNoneIsTheLastMessage() throws {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members, timeline: [1, 2, 3].map { Sync.message("$\($0)", ts: 10 + $0) }))
        try script.apply(Sync.room(timeline: [Self.redaction("$r2", of: "$2"), Self.redaction("$r3", of: "$3")]))
        #expect(last(script) == ["$1", "11"])
    }

    // MARK: Joining

    @Test func ofARoomThatIsJoinedForTheSecondTime_onlyWhatComesAfterTheLastJoiningIsNews() throws {
        var script = try ModelScript()
        let timeline = [
            Self.joining("$first", after: "invite"), Sync.message("$1"), Sync.member("@a:s", "leave", id: "$leave"),
            Sync.message("$2"), Self.joining("$second", after: "leave"), Sync.message("$3"),
        ]
        try script.apply(#""presence":{}"#, Sync.room(state: [Sync.member("@b:s")], timeline: timeline))
        #expect(told(script) == ["$3"])
        #expect(script.unread == 1)
    }

    @Test func whatWasSaidSinceAJoiningThatLiesInAGapIsNews_andTheGapIsTold() throws {
        var script = try ModelScript()
        try script.apply(
            #""presence":{}"#,
            Sync.room(state: Sync.members, timeline: [Sync.message("$8"), Sync.message("$9")], isLimited: true))
        #expect(told(script) == ["$8", "$9"])
        #expect(gaps(script) == 1)
    }

    // MARK: Receipts

    @Test func aReceiptThatMeetsAGapLeavesTheServersCounts() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        let unread = #""unread_notifications":{"notification_count":1,"highlight_count":0}"#
        try script.apply(
            Sync.room(timeline: [Sync.member("@c:s")], isLimited: true, prevBatch: "p", more: unread))
        let changes = try script.model.tookReceipt("!r:s", upTo: "$1", threadId: nil, in: script.store)
        #expect(changes == nil && script.room?.summary.notificationCount == 1)
    }

    // MARK: The last message

    private func last(_ script: ModelScript) -> [String] {
        [script.room?.summary.lastMessageId ?? "-", "\(script.room?.summary.lastMessageTs ?? 99)"]
    }

    private static func redaction(_ id: String, of target: String) -> String {
        #"{"type":"m.room.redaction","event_id":"\#(id)","sender":"@b:s","redacts":"\#(target)","content":{}}"#
    }

    private func afterMessage() throws -> ModelScript {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1", ts: 11)]))
        return script
    }

    @Test func aGapOfJoinsAndReactionsLeavesTheLastMessage() throws {
        var script = try afterMessage()
        let timeline = [Sync.member("@c:s"), Sync.reaction("$x", to: "$1")]
        try script.apply(Sync.room(timeline: timeline, isLimited: true, prevBatch: "p"))
        #expect(last(script) == ["$1", "11"])
        try script.apply(Sync.room(timeline: [Sync.message("$9", ts: 19)]))
        #expect(last(script) == ["$9", "19"])
    }

    @Test func aLastMessageBeforeAGapGivesWayToANewerOneThatAPageBrings() throws {
        var script = try afterMessage()
        try script.apply(Sync.room(timeline: [Sync.member("@c:s")], isLimited: true, prevBatch: "p"))
        let page = try [Sync.reaction("$x", to: "$5"), Sync.message("$5", ts: 15), Sync.message("$4", ts: 14)].map {
            try Self.event($0)
        }
        let changes = script.model.paginated("!r:s", older: page, token: "p4", members: [], hasLastMessage: false)
        #expect(last(script) == ["$5", "15"])
        #expect(changes.rooms["!r:s"]?.summary?.lastMessageId == "$5")
        _ = script.model.paginated(
            "!r:s", older: [try Self.event(Sync.message("$3", ts: 13))], token: "p3", members: [], hasLastMessage: true)
        #expect(last(script) == ["$5", "15"])
    }

    @Test func aLastMessageThatIsRedactedAcrossAGapIsGone() throws {
        var script = try afterMessage()
        try script.apply(Sync.room(timeline: [Self.redaction("$r", of: "$1")], isLimited: true, prevBatch: "p"))
        #expect(last(script) == ["-", "11"])
        _ = script.model.paginated("!r:s", older: [], token: nil, members: [], hasLastMessage: false)
        #expect(last(script) == ["-", "0"])
    }

    @Test func aRoomKeepsItsPlaceWhenItsOnlyMessageAfterAGapIsRedacted() throws {
        var script = try afterMessage()
        try script.apply(Sync.room(timeline: [Sync.message("$9", ts: 19)], isLimited: true, prevBatch: "p"))
        try script.apply(Sync.room(timeline: [Self.redaction("$r", of: "$9")]))
        #expect(last(script) == ["-", "19"])
        let page = [try Self.event(Sync.message("$1", ts: 11))]
        _ = script.model.paginated("!r:s", older: page, token: "p1", members: [], hasLastMessage: false)
        #expect(last(script) == ["$1", "11"])
    }

    @Test func whenTheNewestMessageAfterAGapIsRedacted_theOneBeforeTheGapIsTheLast() throws {
        var script = try afterMessage()
        let timeline = [Sync.message("$9", ts: 19), Self.redaction("$r", of: "$9")]
        try script.apply(Sync.room(timeline: timeline, isLimited: true, prevBatch: "p"))
        #expect(last(script) == ["$1", "11"])
    }

    @Test func theMessageBeforeARedactedOneIsFoundBehindManyReactions() throws {
        var script = try ModelScript()
        let reactions = (0..<120).map { Sync.reaction("$x\($0)", to: "$1") }
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1", ts: 11)] + reactions))
        try script.apply(Sync.room(timeline: [Sync.message("$2", ts: 12)]))
        try script.apply(Sync.room(timeline: [Self.redaction("$r", of: "$2")]))
        #expect(last(script) == ["$1", "11"])
    }

    /// A first sync that became necessary because the server's stream is new.
    @Test func beginningAnewLeavesTheLastMessage() throws {
        var script = try afterMessage()
        script.model.forgetSyncToken()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.reaction("$x", to: "$1")], prevBatch: "p"))
        #expect(last(script) == ["$1", "11"])
    }
}
