import Basics
import Dispatch
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing

@Suite(.overSockets)
struct SessionTests {
    @Test func theFirstSyncBringsRooms_andIsHistoryForListeners() async throws {
        let scene = try await SessionScene()
        let heard = Lock<[String]>([])
        scene.session.listenToEvents { event, _, _ in heard.withLock { $0.append(event.eventId) } }
        scene.script(
            Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")], prevBatch: "p1")))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        #expect(room.roomId == "!r:s")
        #expect(room.displayName == "Bob")
        #expect(room.lastMessage?.eventId == "$1")
        #expect(scene.session.state == .running)
        #expect(scene.session.room(withRoomId: "!r:s") === room)
        #expect(heard.withLock { $0 }.isEmpty)
        #expect(scene.polls.first?.parameter("since") == nil)
        #expect(scene.polls.first?.parameter("timeout") == "0")
    }

    /// A concurrent completion queue, as here, runs blocks in parallel.
    @Test func aLaterSyncIsToldAfterAnEarlierOne_alsoOnAConcurrentQueue() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let (heard, second) = (Lock<[String]>([]), DispatchSemaphore(value: 0))
        scene.session.listenToEvents([.roomMessage]) { event, _, _ in
            if event.eventId == "$1" { _ = second.wait(timeout: .now() + .milliseconds(300)) }
            heard.withLock { $0.append(event.eventId) }
            if event.eventId == "$2" { second.signal() }
        }
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])),
            Sync.answer("s3", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await eventually { heard.withLock { $0.count } == 2 })
        #expect(heard.withLock { $0 } == ["$1", "$2"])
    }

    @Test func laterEventsReachListenersInOrder_withTheStateBeforeEach() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms().first)
        let heard = Lock<[String]>([])
        room.liveTimeline.listenToEvents([.roomMessage, .roomName]) { event, direction, state in
            heard.withLock { $0.append("\(event.eventId) \(direction) \(state?.name ?? "-")") }
        }
        let name = #"{"type":"m.room.name","event_id":"$2","sender":"@b:s","state_key":"","content":{"name":"N"}}"#
        await scene.next(
            Sync.answer(
                "s2", Sync.room(timeline: [Sync.message("$1"), name, Sync.message("$3")])))
        #expect(await eventually { heard.withLock { $0 }.count == 3 })
        #expect(heard.withLock { $0 } == ["$1 forwards -", "$2 forwards -", "$3 forwards N"])
        #expect(room.displayName == "N")
        #expect(room.summary.localUnreadEventCount == 2)
        #expect(scene.polls.last?.parameter("since") == "s2" || scene.polls.contains { $0.parameter("since") == "s1" })
    }

    @Test func aRedactionIsToldOnce_andWhatItTookIsNotToldAgain() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let heard = Lock<[String]>([])
        room.liveTimeline.listenToEvents { event, _, _ in heard.withLock { $0.append(event.type) } }
        let redaction = #"""
            {"type":"m.room.redaction","event_id":"$2","sender":"@b:s","redacts":"$1","content":{"redacts":"$1"}}
            """#
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        await scene.next(Sync.answer("s3", Sync.room(timeline: [redaction, Sync.message("$3")])))
        #expect(await eventually { heard.withLock { $0.count } >= 3 })
        #expect(heard.withLock { $0 } == ["m.room.message", "m.room.redaction", "m.room.message"])
        #expect(try room.storedMessages().first?.isRedacted == true)
    }

    @Test func anAnswerThatComesTwiceIsToldOnce() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let heard = Lock<[String]>([])
        scene.session.listenToEvents([.roomMessage]) { event, _, _ in heard.withLock { $0.append(event.eventId) } }
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1"), Sync.message("$1")])))
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1"), Sync.message("$2")])))
        #expect(await eventually { heard.withLock { $0 }.count == 2 })
        #expect(heard.withLock { $0 } == ["$1", "$2"])
    }

    @Test(arguments: ["cut", "page", "silence-then-drop", "half"])
    func aFailureIsReportedAndOvercome(fault: String) async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let broken: FakeAnswer =
            switch fault {
            case "cut": Sync.answer("s2").with(.cut(after: 4))
            case "page": .page(502)
            case "half": .json(#"{"next_batch":"s9","rooms":{"join":{"#)
            default: .drop
            }
        let heard = Lock(0)
        scene.session.listenToEvents([.roomMessage]) { _, _, _ in heard.withLock { $0 += 1 } }
        await scene.next(broken, Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        #expect(await eventually { heard.withLock { $0 } == 1 })
        #expect(await eventually { scene.session.state == .running })
    }

    @Test func aRefusedLoginEndsTheSync() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        await scene.next(.unknownToken(softLogout: false))
        #expect(await eventually { scene.session.state == .syncError })
    }

    @Test func afterBeginningAnew_roomsThatAreGoneAreGone_andTimelinesStartAgain() async throws {
        let scene = try await SessionScene()
        scene.script(
            Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])),
            Sync.answer("s2", Sync.room("!old:s", state: Sync.members)))
        try await scene.session.start()
        #expect(await eventually { scene.session.rooms.count == 2 })
        let room = try #require(scene.session.room(withRoomId: "!r:s"))
        #expect(try await room.liveTimeline.paginate(1).map(\.eventId) == ["$1"])
        let flushed = Lock<[String]>([])
        let token = NotificationCenter.default.addObserver(
            forName: .mxRoomDidFlushData, object: scene.session, queue: nil
        ) { note in flushed.withLock { $0.append(note.userInfo?[kMXSessionNotificationRoomIdKey] as? String ?? "") } }
        defer { NotificationCenter.default.removeObserver(token) }
        await scene.next(
            .unknownSyncToken,
            Sync.answer("t1", Sync.room(state: Sync.members, timeline: [Sync.message("$2")])))
        #expect(await eventually { flushed.withLock { $0.contains("!r:s") } })
        #expect(scene.session.roomsSummaries.map(\.roomId) == ["!r:s"])
        #expect(scene.session.room(withRoomId: "!old:s") == nil)
        #expect(try await room.liveTimeline.paginate(5).map(\.eventId) == ["$2"])
    }

    @Test func aStartOfASessionThatRunsReturnsAtOnce_andOneThatIsCancelledToo() async throws {
        let scene = try await SessionScene()
        let start = Task { try await scene.session.start() }
        #expect(await eventually { !scene.polls.isEmpty })
        start.cancel()
        await #expect(throws: CancellationError.self) { try await start.value }
        await scene.next(Sync.answer("s1"))
        #expect(await eventually { scene.session.state == .running })
        let clock = ContinuousClock.now
        try await scene.session.start()
        #expect(ContinuousClock.now - clock < .seconds(10))
    }

    @Test func aPauseThatWaitsIsNotForgottenWhenTheNetworkFails() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        scene.session.retainPreventPause()
        scene.session.pause()
        #expect(scene.session.state == .pauseRequested)
        await scene.next(.drop, Sync.answer("s2"))
        #expect(await eventually { scene.session.state == .running })
        scene.session.releasePreventPause()
        #expect(await eventually { scene.session.state == .paused })
    }

    @Test func aTimelineThatGrowsIsTrimmed_andGoesOnAtTheServerWithoutAHole() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "trim-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let scene = try await SessionScene(store: MXFileStore(folder: folder, eventsPerRoom: 20))
        scene.script(Sync.answer("s0", Sync.room(state: Sync.members, prevBatch: "p0")))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        for sync in 1...6 {
            let events = (0..<10).map { Sync.message("$\(sync * 10 + $0)") }
            await scene.next(Sync.answer("s\(sync)", Sync.room(timeline: events, prevBatch: "p\(sync)")))
            #expect(await eventually { room.summary.lastMessageId == "$\(sync * 10 + 9)" })
        }
        let kept = try room.storedMessages(limit: 100).map(\.eventId)
        #expect((20..<60).contains(kept.count))
        let first = try #require(kept.first.flatMap { Int($0.dropFirst()) })
        let older = (10..<first).reversed().map { Sync.message("$\($0)") }
        scene.server.on(
            "GET", "v3/rooms/*/messages", .json(#"{"start":"x","chunk":[\#(older.joined(separator: ","))]}"#))
        let all = try await room.liveTimeline.paginate(100).map(\.eventId)
        #expect(all == (10...69).reversed().map { "$\($0)" })
        #expect(scene.server.requests("GET", "v3/rooms/*/messages").first?.parameter("from") == "p\(first / 10)")
        // From here on the room is open.
        let before = try room.storedMessages(limit: 200).count
        for sync in 7...12 {
            let events = (0..<10).map { Sync.message("$\(sync * 10 + $0)") }
            await scene.next(Sync.answer("s\(sync)", Sync.room(timeline: events, prevBatch: "p\(sync)")))
            #expect(await eventually { room.summary.lastMessageId == "$\(sync * 10 + 9)" })
        }
        #expect(try room.storedMessages(limit: 200).count == before + 60)
    }

    @Test func callbacksKeepTheOrderOfTheCalls_filesIncluded() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).txt")
        try Data("text".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        scene.server.on("GET", "v1/media/config", .json("{}"))
        scene.server.on(
            "POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://s/1"}"#).after(.milliseconds(100)))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        let done = Lock<[String]>([])
        let answers = Lock<[String?]>([])
        room.sendFile(file, mimeType: "text/plain") { response in
            done.withLock { $0.append("file") }
            answers.withLock { $0.append(response.value ?? nil) }
        }
        var echo: MXEvent?
        room.sendTextMessage("0", localEcho: &echo) { _ in done.withLock { $0.append("0") } }
        #expect(echo?.content["body"] as? String == "0" && echo?.isLocalEvent == true)
        #expect(room.outgoingMessages.map(\.eventId).last == echo?.eventId)
        for number in 1...20 { room.sendTextMessage("\(number)") { _ in done.withLock { $0.append("\(number)") } } }
        #expect(await eventually { done.withLock { $0.count } == 22 })
        let bodies = scene.server.requests("PUT", "v3/rooms/*/send/*/*").map { $0.json?["body"]?.string ?? "" }
        #expect(bodies == [file.lastPathComponent] + (0...20).map(String.init))
        // The queue of these tests is not serial.
        #expect(Set(done.withLock { $0 }) == Set(["file"] + (0...20).map(String.init)))
        #expect(answers.withLock { $0 } == ["$1"])
        #expect(room.outgoingMessages.allSatisfy { $0.sentState == .sent })
    }

    @Test func aFileThatWasNotUploadedFails_andIsNotSentWithoutIt() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).txt")
        try Data("text".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        scene.server.on("GET", "v1/media/config", .json("{}"))
        scene.server.on("POST", "/_matrix/media/v3/upload", .error(403, "M_FORBIDDEN"))
        await #expect(throws: MXError.self) { try await room.sendMedia(file, mimeType: "text/plain") }
        let failed = try #require(room.outgoingMessages.first)
        #expect(failed.sentState == .failed)
        await #expect(throws: MatrixError.self) { try await room.resend(failed.eventId) }
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        try room.removeOutgoingMessage(failed.eventId)
        #expect(room.outgoingMessages.isEmpty)
    }

    @Test func aReactionThatFailsIsNotShown_andOneThatIsThereAlreadyLeavesNothing() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let told = Lock(0)
        let listener = room.listenToRelations { _ in told.withLock { $0 += 1 } }
        scene.server.on(
            "PUT", "v3/rooms/*/send/*/*", [.error(403, "M_FORBIDDEN"), .error(400, "M_DUPLICATE_ANNOTATION")])
        await #expect(throws: MXError.self) { try await room.react("+", toEvent: "$1") }
        #expect(room.aggregations(forEvent: "$1") == nil)
        #expect(await eventually { told.withLock { $0 } == 2 })
        let failed = try #require(room.outgoingMessages.first)
        try room.removeOutgoingMessage(failed.eventId)
        try await room.react("+", toEvent: "$1")
        #expect(room.outgoingMessages.isEmpty)
        room.removeListener(listener)
    }

    @Test func aMessageThatASyncHasBroughtDoesNotFailAfterwards() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let transaction = Lock("")
        scene.server.on("PUT", "v3/rooms/*/send/*/*") { request in
            transaction.withLock { $0 = request.path.last ?? "" }
            return .silence
        }
        let sending = Task { try await room.sendTextMessage("one") }
        #expect(await scene.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*"))
        let event = #"""
            {"type":"m.room.message","event_id":"$1","sender":"@a:s","origin_server_ts":1,
            "content":{"msgtype":"m.text","body":"one"},"unsigned":{"transaction_id":"\#(transaction.withLock { $0 })"}}
            """#
        await scene.next(Sync.answer("s2", Sync.room(timeline: [event])))
        #expect(await eventually { room.outgoingMessages.isEmpty })
        sending.cancel()
        await #expect(throws: (any Error).self) { try await sending.value }
        #expect(room.outgoingMessages.isEmpty)
    }

    @Test func aStartThatIsOverByClosingIsTold() async throws {
        let scene = try await SessionScene()
        let start = Task { try await scene.session.start() }
        #expect(await eventually { !scene.polls.isEmpty })
        scene.session.close()
        await #expect { try await start.value } throws: { ($0 as? MatrixError)?.code == .cancelled }
        #expect(scene.session.state == .closed)
    }

    @Test func startingWhatRunsReturnsAtOnce_andACancelledStartIsOver() async throws {
        let scene = try await SessionScene()
        let start = Task { try await scene.session.start() }
        #expect(await eventually { !scene.polls.isEmpty })
        start.cancel()
        await #expect(throws: CancellationError.self) { try await start.value }
        await scene.next(Sync.answer("s1"))
        #expect(await eventually { scene.session.state == .running })
        try await scene.session.start()
    }

    @Test func roomsThatABeginningAnewDoesNotBringAreGone() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room("!old:s", state: Sync.members)))
        try await scene.session.start()
        #expect(scene.session.rooms.map(\.roomId) == ["!old:s"])
        await scene.next(.unknownSyncToken, Sync.answer("t1", Sync.room("!new:s", state: Sync.members)))
        #expect(await eventually { scene.session.rooms.map(\.roomId) == ["!new:s"] })
        #expect(scene.session.room(withRoomId: "!old:s") == nil)
    }

    @Test func aFirstSyncCanBeSmallerThanTheOthers() async throws {
        let scene = try await SessionScene {
            $0.initialTimelineLimit = 1
            $0.timelineLimit = 77
        }
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        #expect(await eventually { scene.polls.count == 2 })
        let filters = scene.polls.map { $0.parameter("filter") ?? "" }
        #expect(filters.first?.contains(#""limit":1,"#) == true)
        #expect(filters.last?.contains(#""limit":77,"#) == true)
        // Counts of threads are sent apart from those of their rooms.
        let asksForThreads = filters.allSatisfy { $0.contains(#""unread_thread_notifications":true"#) }
        #expect(asksForThreads)
    }

    @Test func pausingStopsThePolls_andResumingGoesOn() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        #expect(await scene.isPolled())
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        let before = scene.polls.count
        scene.script(Sync.answer("s2"))
        let isUp = Lock(false)
        scene.session.resume { isUp.withLock { $0 = true } }
        #expect(await eventually { isUp.withLock { $0 } && scene.session.state == .running })
        #expect(scene.polls.count > before)
    }

    @Test func aPausedSessionLeavesAndJoins_withoutWaitingForASync() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        scene.server.on("POST", "v3/rooms/*/leave", .ok)
        scene.server.on("POST", "v3/join/*", .json(#"{"room_id":"!new"}"#))
        try await scene.session.leaveRoom("!r:s")
        await #expect { _ = try await scene.session.joinRoom("!new") } throws: {
            ($0 as? MatrixError)?.roomId == "!new"
        }
    }

    @Test func aGapBeginsTheTimelineAnew_andPaginatingFillsIt() async throws {
        let scene = try await SessionScene()
        scene.script(
            Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")], prevBatch: "p1")))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let flushed = Lock(0)
        let token = NotificationCenter.default.addObserver(
            forName: .mxRoomDidFlushData, object: scene.session, queue: nil
        ) { _ in flushed.withLock { $0 += 1 } }
        defer { NotificationCenter.default.removeObserver(token) }
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$5")], isLimited: true, prevBatch: "p2")))
        #expect(await eventually { flushed.withLock { $0 } == 1 })
        scene.server.on(
            "GET", "v3/rooms/*/messages",
            [
                .json(#"{"start":"p2","end":"p3","chunk":[\#(Sync.message("$4")),\#(Sync.message("$3"))]}"#),
                .json(#"{"start":"p3","end":"p4","chunk":[]}"#),
                .json(#"{"start":"p4","chunk":[\#(Sync.message("$2")),\#(Sync.message("$1"))]}"#),
            ])
        let heard = Lock<[String]>([])
        room.liveTimeline.listenToEvents { event, direction, _ in
            heard.withLock { $0.append("\(event.eventId) \(direction)") }
        }
        room.liveTimeline.resetPagination()
        let events = try await room.liveTimeline.paginate(10)
        #expect(events.map(\.eventId) == ["$5", "$4", "$3", "$2", "$1"])
        #expect(!room.liveTimeline.canPaginate(.backwards))
        #expect(await eventually { heard.withLock { $0 }.count == 5 })
        #expect(heard.withLock { $0 }.first == "$5 backwards")
        let again = try await room.liveTimeline.paginate(10)
        #expect(again.isEmpty)
    }

    @Test func whoSpeaksInAPageIsInItsState_notInTheRooms() async throws {
        let scene = try await SessionScene()
        scene.script(
            Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$2")], prevBatch: "p1")))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let names = Lock<[String]>([])
        room.liveTimeline.listenToEvents { event, _, state in
            names.withLock { $0.append(state?.members.memberName(event.sender) ?? "-") }
        }
        scene.server.on(
            "GET", "v3/rooms/*/messages",
            .json(
                #"{"start":"p1","chunk":[\#(Sync.message("$1", sender: "@c:s"))],"state":[\#(Sync.member("@c:s", name: "Carol"))]}"#
            ))
        _ = try await room.liveTimeline.paginate(10)
        #expect(await eventually { names.withLock { $0 } == ["Bob", "Carol"] })
        #expect(room.state?.members.member(withUserId: "@c:s") == nil)
        #expect(room.summary.joinedMembersCount == 2)
    }

    @Test func messagesGoOutInOrder_andALostAnswerMakesNoSecondOne() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        let received = Lock<[String]>([])
        let isFirst = Lock(true)
        scene.server.on("PUT", "v3/rooms/*/send/*/*") { request in
            let transaction = request.path.last ?? ""
            let isNew = received.withLock { received in
                guard !received.contains(transaction) else { return false }
                received.append(transaction)
                return true
            }
            let answer = FakeAnswer.json(#"{"event_id":"$of-\#(transaction)"}"#)
            let drops = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return drops && isNew ? .drop : answer
        }
        async let first = room.sendTextMessage("one")
        #expect(await eventually { received.withLock { $0.count } == 1 })
        async let second = room.sendTextMessage("two")
        let ids = try await [first, second]
        #expect(received.withLock { $0 }.count == 2)
        #expect(ids == received.withLock { $0 }.map { "$of-\($0)" })
        #expect(room.outgoingMessages.allSatisfy { $0.sentState == .sent })
    }

    @Test func whatTheServerRefusesStaysAsFailed_andMayBeSentAgainUnderItsId() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        scene.server.on(
            "PUT", "v3/rooms/*/send/*/*", [.error(403, "M_FORBIDDEN"), .json(#"{"event_id":"$1"}"#)])
        await #expect { try await room.sendTextMessage("one") } throws: { ($0 as? MXError)?.errcode == "M_FORBIDDEN" }
        let failed = try #require(room.outgoingMessages.first)
        #expect(failed.sentState == .failed)
        #expect(try await room.resend(failed.eventId) == "$1")
        let paths = scene.server.requests("PUT", "v3/rooms/*/send/*/*").map(\.rawPath)
        #expect(paths.count == 2 && paths[0] == paths[1])
        #expect(room.outgoingMessages.allSatisfy { $0.sentState == .sent })
    }

    @Test func nothingIsSentInTheClearIntoAnEncryptedRoom() async throws {
        let scene = try await SessionScene()
        let encryption = #"""
            {"type":"m.room.encryption","event_id":"$e","sender":"@b:s","state_key":"",
            "content":{"algorithm":"m.megolm.v1.aes-sha2"}}
            """#
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members + [encryption])))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        await #expect { try await room.sendTextMessage("secret") } throws: {
            ($0 as? MatrixError)?.code == .encryptionNotAvailable
        }
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        #expect(room.outgoingMessages.isEmpty)
    }

    @Test func aRoomThatWasCreatedEncryptedIsSo_beforeASyncSaysIt() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        scene.server.on("POST", "v3/createRoom", .json(#"{"room_id":"!new"}"#))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        let isMade = Lock(false)
        let creation = Task {
            let parameters = MXRoomCreationParameters()
            parameters.isEncrypted = true
            let room = try await scene.session.createRoom(parameters: parameters)
            isMade.withLock { $0 = true }
            return room
        }
        #expect(await scene.server.hasBeenAsked("POST", "v3/createRoom"))
        // The server may describe a new room in several answers.
        await scene.next(Sync.answer("s2", Sync.room("!new", state: [Sync.member("@a:s")])))
        #expect(await eventually { scene.session.room(withRoomId: "!new") != nil })
        let room = try #require(scene.session.room(withRoomId: "!new"))
        await #expect { try await room.sendTextMessage("secret") } throws: {
            ($0 as? MatrixError)?.code == .encryptionNotAvailable
        }
        #expect(!isMade.withLock { $0 })
        let encryption = #"""
            {"type":"m.room.encryption","event_id":"$e","sender":"@a:s","state_key":"",
            "content":{"algorithm":"m.megolm.v1.aes-sha2"}}
            """#
        await scene.next(Sync.answer("s3", Sync.room("!new", timeline: [encryption])))
        #expect(try await creation.value === room)
        await #expect { try await room.sendTextMessage("secret") } throws: {
            ($0 as? MatrixError)?.code == .encryptionNotAvailable
        }
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
    }

    @Test func countsAreTheServers_andAbsentOnesStay() async throws {
        let scene = try await SessionScene()
        scene.script(
            Sync.answer(
                "s1",
                Sync.room(
                    state: Sync.members,
                    more: #""unread_notifications":{"notification_count":3,"highlight_count":1}"#)))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        #expect(room.summary.notificationCount == 3 && room.summary.highlightCount == 1)
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        #expect(await eventually { room.summary.lastMessageId == "$1" })
        #expect(room.summary.notificationCount == 3 && room.summary.highlightCount == 1)
        scene.server.on("POST", "v3/rooms/*/read_markers", [.error(500, "M_UNKNOWN"), .ok])
        await #expect(throws: MXError.self) { try await room.markAllAsRead() }
        #expect(room.summary.notificationCount == 3)
        try await room.markAllAsRead()
        #expect(room.summary.notificationCount == 0 && room.summary.localUnreadEventCount == 0)
    }
}
