import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

/// Our own pending messages in the model.
@Suite struct SessionModelSendingTests {
    private func script() throws -> ModelScript {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        return script
    }

    private func outgoing(
        _ number: Int, type: String = "m.room.message", content: String = #"{"msgtype":"m.text","body":"hi"}"#,
        state: MXEvent.SentState = .preparing
    ) -> MXOutgoingEvent {
        MXOutgoingEvent(
            transactionId: "t\(number)", roomId: "!r:s", type: type, content: content,
            localEventId: "\(MXEvent.localEventIdPrefix)\(number)", ts: 5, state: state)
    }

    private func reaction(_ number: Int) -> MXOutgoingEvent {
        outgoing(
            number, type: "m.reaction",
            content: #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"+"}}"#)
    }

    private func reactions(_ script: ModelScript) throws -> Int? {
        try script.room?.relations.aggregations(
            forEvent: "$1", original: script.store.event("$1", in: "!r:s"), currentUser: "@a:s")?.reactions?["+"]?.count
    }

    @Test func messagesWaitInTheOrderInWhichTheyWereMade() throws {
        var script = try script()
        for number in 1...3 { script.model.add(outgoing: outgoing(number)) }
        #expect(script.room?.outgoing.map(\.transactionId) == ["t1", "t2", "t3"])
        #expect(script.model.outgoing(outgoing(2).localEventId, in: "!r:s") == outgoing(2))
        #expect(script.model.outgoing("other", in: "!r:s") == nil)
        #expect(script.model.outgoing(outgoing(2).localEventId, in: "!other:s") == nil)
    }

    @Test func howFarAMessageHasComeIsTakenOver() throws {
        var script = try script()
        for number in 1...2 { script.model.add(outgoing: outgoing(number)) }
        #expect(script.model.update(outgoing: outgoing(2, state: .sending)) != nil)
        #expect(script.room?.outgoing.map(\.state) == [.preparing, .sending])
        #expect(script.model.update(outgoing: outgoing(3, state: .sending)) == nil)
        script.model.removeOutgoing(outgoing(1))
        #expect(script.room?.outgoing.map(\.transactionId) == ["t2"])
    }

    @Test func aFailedMessageIsTakenUpAgain_andNoOther() throws {
        var script = try script()
        var failed = outgoing(1, state: .failed)
        failed.failure = "no network"
        script.model.add(outgoing: failed)
        script.model.add(outgoing: outgoing(2, state: .sending))
        let resumed = script.model.resume(outgoing: failed.localEventId, in: "!r:s")
        #expect(resumed?.state == .preparing && resumed?.failure == nil)
        #expect(script.room?.outgoing.first == resumed)
        #expect(script.model.resume(outgoing: outgoing(2).localEventId, in: "!r:s") == nil)
        #expect(script.model.resume(outgoing: "other", in: "!r:s") == nil)
    }

    @Test func aReactionIsShownAtOnce_andNotOnceItHasFailed() throws {
        var script = try script()
        script.model.add(outgoing: reaction(1))
        #expect(try reactions(script) == 1)
        var failed = reaction(1)
        failed.state = .failed
        #expect(script.model.update(outgoing: failed) != nil)
        #expect(try reactions(script) == nil)
        #expect(script.model.resume(outgoing: failed.localEventId, in: "!r:s") != nil)
        #expect(try reactions(script) == 1)
        script.model.removeOutgoing(reaction(1))
        #expect(try reactions(script) == nil)
    }

    @Test func whatTheProgramsEndInterruptedHasFailed() throws {
        var script = try script()
        let states: [MXEvent.SentState] = [.preparing, .sending, .failed, .sent]
        for (index, state) in states.enumerated() { script.model.add(outgoing: outgoing(index, state: state)) }
        let changed = script.model.failInterruptedMessages()
        #expect(changed.map(\.transactionId) == ["t0", "t1"])
        #expect(changed.allSatisfy { $0.state == .failed && $0.failure?.contains("program ended") == true })
        #expect(script.room?.outgoing.map(\.state) == [.failed, .failed, .failed, .sent])
        #expect(script.model.failInterruptedMessages() == [])
    }

    /// A sync had delivered it without its transaction ID, and the store discarded it before the restart.
    @Test func aMessageThatWasTrimmedBeforeARestartDoesNotStay() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members))
        script.model.add(outgoing: outgoing(1, state: .sending))
        _ = script.model.failInterruptedMessages()
        let resumed = script.model.resume(outgoing: outgoing(1).localEventId, in: "!r:s")
        _ = script.model.confirm(try #require(resumed), as: "$1", isStored: false)
        try script.apply(Sync.room(timeline: [Sync.message("$2")]))
        #expect(script.room?.outgoing.isEmpty == true)
    }

    // MARK: Confirmation

    @Test func aConfirmedMessageStandsThereUntilASyncBringsIt() throws {
        var script = try script()
        script.model.add(outgoing: reaction(1))
        let confirmed = script.model.confirm(reaction(1), as: "$sent", isStored: false)
        let changes = try #require(confirmed)
        #expect(changes.outgoing.map(\.eventId) == ["$sent"])
        #expect(changes.outgoing.map(\.state) == [.sent])
        #expect(changes.sentOutgoing.isEmpty)
        #expect(script.room?.outgoing.first?.eventId == "$sent")
        #expect(try reactions(script) == 1)
        #expect(script.model.confirm(outgoing(7), as: "$x", isStored: false) == nil)
    }

    @Test func oneThatASyncHasBroughtIsGone() throws {
        var script = try script()
        script.model.add(outgoing: outgoing(1))
        let confirmed = script.model.confirm(outgoing(1), as: "$sent", isStored: true)
        let changes = try #require(confirmed)
        #expect(changes.sentOutgoing == ["t1"])
        #expect(changes.outgoing.isEmpty)
        #expect(script.room?.outgoing.isEmpty == true)
    }

    /// Matched by its transaction ID, or by its event ID where the server omits that.
    @Test(arguments: [(#","unsigned":{"transaction_id":"t1"}"#, "$any"), ("", "$sent")])
    func aSyncThatBringsOurMessageTakesItsPlace(unsigned: String, eventId: String) throws {
        var script = try script()
        script.model.add(outgoing: outgoing(1))
        let isConfirmed = unsigned.isEmpty
        if isConfirmed { _ = script.model.confirm(outgoing(1), as: "$sent", isStored: false) }
        let message = #"""
            {"type":"m.room.message","event_id":"\#(eventId)","sender":"@a:s","origin_server_ts":9,
            "content":{"msgtype":"m.text","body":"hi"}\#(unsigned)}
            """#
        try script.apply(Sync.room(timeline: [message]))
        #expect(script.room?.outgoing.isEmpty == true)
        let confirmed = script.notices.compactMap { notice in
            if case .echoConfirmed(_, let local, let id) = notice { "\(local) \(id)" } else { nil }
        }
        #expect(confirmed == (isConfirmed ? [] : ["\(outgoing(1).localEventId) $any"]))
    }

    @Test func anothersMessageConfirmsNothing() throws {
        var script = try script()
        script.model.add(outgoing: outgoing(1))
        let message = #"""
            {"type":"m.room.message","event_id":"$2","sender":"@b:s","unsigned":{"transaction_id":"t1"},
            "content":{"msgtype":"m.text","body":"hi"}}
            """#
        try script.apply(Sync.room(timeline: [message]))
        #expect(script.room?.outgoing.count == 1)
    }

    @Test func afterAGapOnlyWhatTheServerHasIsGone() throws {
        var script = try script()
        for number in 1...2 { script.model.add(outgoing: outgoing(number)) }
        _ = script.model.confirm(outgoing(1), as: "$sent", isStored: false)
        try script.apply(Sync.room(timeline: [Sync.message("$9")], isLimited: true, prevBatch: "p9"))
        #expect(script.room?.outgoing.map(\.transactionId) == ["t2"])
        #expect(script.room?.summary.paginationToken == "p9")
    }

    // MARK: Reading

    @Test func whatTheServerHasTakenAsReadIsRead_upToThatEvent() throws {
        var script = try script()
        let counts = #""unread_notifications":{"notification_count":3,"highlight_count":2}"#
        try script.apply(Sync.room(timeline: [Sync.message("$2")], more: counts))
        let before = try #require(script.room?.summary)
        #expect((before.notificationCount, before.highlightCount, before.localUnreadEventCount) == (3, 2, 2))
        // A newer message follows.
        #expect(try script.model.tookReceipt("!r:s", upTo: "$1", threadId: nil, in: script.store) != nil)
        let half = try #require(script.room?.summary)
        #expect((half.notificationCount, half.highlightCount, half.localUnreadEventCount) == (3, 2, 1))
        let changes = try script.model.tookReceipt("!r:s", upTo: "$2", threadId: nil, in: script.store)
        let read = try #require(script.room?.summary)
        #expect((read.notificationCount, read.highlightCount, read.localUnreadEventCount) == (0, 0, 0))
        #expect(changes?.rooms["!r:s"]?.summary == read)
        // An older one changes nothing.
        #expect(try script.model.tookReceipt("!r:s", upTo: "$1", threadId: nil, in: script.store) == nil)
        #expect(script.room?.summary == read)
    }

    @Test func theTargetIsWhatIsReactedToOrEdited() {
        func target(_ relation: String) -> String? {
            outgoing(1, content: #"{"body":"b","m.relates_to":\#(relation)}"#).target
        }
        #expect(reaction(1).target == "$1")
        #expect(target(#"{"rel_type":"m.replace","event_id":"$2"}"#) == "$2")
        #expect(target(#"{"rel_type":"m.thread","event_id":"$2"}"#) == nil)
        #expect(outgoing(1).target == nil)
        #expect(outgoing(1).reaction(sender: "@a:s") == nil)
    }

    @Test func anEchoIsAnEventWithOurIds() throws {
        let echo = try #require(outgoing(1, state: .sending).event(sender: "@a:s"))
        #expect(echo.eventId == outgoing(1).localEventId && echo.isLocalEvent)
        #expect(echo.transactionId == "t1" && echo.sentState == .sending && echo.sender == "@a:s")
        #expect(outgoing(1, content: "no JSON").event(sender: "@a:s") == nil)
    }

    /// A sync delivered it without its transaction ID, and it is no longer stored when the server's answer arrives.
    @Test func aMessageThatWasTrimmedBeforeItWasConfirmedDoesNotStay() throws {
        var script = try ModelScript()
        try script.apply(Sync.room(state: Sync.members))
        script.model.add(outgoing: outgoing(1, state: .sending))
        try script.apply(Sync.room(timeline: [Sync.message("$1", sender: "@a:s")]))
        script.model.trimmed("!r:s", token: "p")
        _ = script.model.confirm(outgoing(1, state: .sending), as: "$1", isStored: false)
        try script.apply(Sync.room(timeline: [Sync.message("$2")]))
        #expect(script.room?.outgoing.isEmpty == true)
    }
}
