import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing
import Transport

/// A homeserver whose syncs follow a script, and a session of it.
final class SessionScene: Sendable {
    let server: FakeHomeserver
    let session: MXSession
    private struct Script {
        var answers: [FakeAnswer] = []
        /// Whether a poll waits in vain.
        var isPolled = false
    }

    private let state = Lock(Script())

    init(store: (any MXStore)? = nil, _ change: (inout MXSessionOptions) -> Void = { _ in }) async throws {
        server = try await FakeHomeserver.start()
        var options = MXSessionOptions()
        options.reconnectPolicy = .exponential(base: .milliseconds(5), maximumDelay: .milliseconds(50))
        change(&options)
        session = MXSession(matrixRestClient: MXRestClient.make(server), options: options)
        if let store { try session.setStore(store) }
        let state = state
        server.on("GET", "v3/sync") { _ in
            state.withLock { state in
                state.isPolled = state.answers.isEmpty
                return state.isPolled ? .silence : state.answers.removeFirst()
            }
        }
    }

    /// What the next polls are answered; those after them wait.
    func script(_ answers: FakeAnswer...) { state.withLock { $0.answers += answers } }

    /// Replaces the poll that waits by one that is answered.
    func next(_ answers: FakeAnswer...) async {
        _ = await eventually { self.state.withLock { $0.isPolled } }
        state.withLock { $0.answers += answers }
        session.reconnect()
    }

    var polls: [FakeRequest] { server.requests("GET", "v3/sync") }
}

/// Answers of `/sync`.
enum Sync {
    static func answer(_ token: String, _ more: String = "") -> FakeAnswer {
        .json(#"{"next_batch":"\#(token)"\#(more.isEmpty ? "" : ",")\#(more)}"#)
    }

    static func room(
        _ id: String = "!r:s", state: [String] = [], timeline: [String] = [], isLimited: Bool = false,
        prevBatch: String? = nil, more: String = ""
    ) -> String {
        let token = prevBatch.map { #","prev_batch":"\#($0)""# } ?? ""
        return #"""
            "rooms":{"join":{"\#(id)":{"state":{"events":[\#(state.joined(separator: ","))]},
            "timeline":{"events":[\#(timeline.joined(separator: ","))],"limited":\#(isLimited)\#(token)}
            \#(more.isEmpty ? "" : ",")\#(more)}}}
            """#
    }

    static func message(_ id: String, _ body: String = "hello", sender: String = "@b:s", ts: Int = 1) -> String {
        #"""
        {"type":"m.room.message","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),
        "content":{"msgtype":"m.text","body":"\#(body)"}}
        """#
    }

    static func member(_ user: String, _ membership: String = "join", name: String? = nil, id: String? = nil) -> String
    {
        let name = name.map { #","displayname":"\#($0)""# } ?? ""
        return #"""
            {"type":"m.room.member","event_id":"\#(id ?? "$member-\(user)")","sender":"\#(user)","state_key":"\#(user)",
            "origin_server_ts":1,"content":{"membership":"\#(membership)"\#(name)}}
            """#
    }

    static let members = [member("@a:s", name: "Alice"), member("@b:s", name: "Bob")]
}

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

    @Test func anUnknownPointOfTheStreamLeadsToAFirstSync() async throws {
        let scene = try await SessionScene { $0.pollTimeout = .seconds(1) }
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])))
        try await scene.session.start()
        await scene.next(
            .error(400, "M_UNKNOWN"), Sync.answer("t1", Sync.room(state: Sync.members, timeline: [Sync.message("$2")])))
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        #expect(scene.polls.contains { $0.parameter("since") == nil && $0.rawPath.hasSuffix("sync") })
    }

    @Test func aStartThatIsOverByClosingIsTold() async throws {
        let scene = try await SessionScene()
        let start = Task { try await scene.session.start() }
        #expect(await eventually { !scene.polls.isEmpty })
        scene.session.close()
        await #expect { try await start.value } throws: { ($0 as? MatrixError)?.code == .cancelled }
        #expect(scene.session.state == .closed)
    }

    @Test func whoeverDoesNotWaitForTheStartAnyMoreIsToldAtOnce_andTheSessionGoesOn() async throws {
        let scene = try await SessionScene()
        let start = Task { try await scene.session.start() }
        #expect(await eventually { !scene.polls.isEmpty })
        start.cancel()
        await #expect { try await start.value } throws: { ($0 as? MatrixError)?.code == .cancelled }
        await scene.next(Sync.answer("s1", Sync.room(state: Sync.members)))
        #expect(await eventually { scene.session.state == .running })
        await #expect(throws: MatrixError.self) {
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await scene.session.start()
            }.value
        }
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
    }

    @Test func pausingStopsThePolls_andResumingGoesOn() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        // Else this poll may take the answer that the one after the pause is to have.
        #expect(await eventually { scene.polls.count == 2 })
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        let before = scene.polls.count
        scene.script(Sync.answer("s2"))
        let isUp = Lock(false)
        scene.session.resume { isUp.withLock { $0 = true } }
        #expect(await eventually { isUp.withLock { $0 } && scene.session.state == .running })
        #expect(scene.polls.count > before)
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
        #expect(room.outgoingMessages.isEmpty)
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
        #expect(room.outgoingMessages.isEmpty)
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
