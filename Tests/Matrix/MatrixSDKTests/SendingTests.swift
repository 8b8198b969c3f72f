import Basics
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// Our own pending messages, and what can happen meanwhile.
@Suite(.overSockets)
struct SendingTests {
    private static let encryption = #"""
        {"type":"m.room.encryption","event_id":"$e","sender":"@b:s","state_key":"",
        "content":{"algorithm":"m.megolm.v1.aes-sha2"}}
        """#

    private func joined(
        _ store: (any MXStore)? = nil, _ change: (inout MXSessionOptions) -> Void = { _ in }
    ) async throws -> (SessionScene, MXRoom) {
        let scene = try await SessionScene(store: store, change)
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$0")], prevBatch: "p0")))
        try await scene.session.start()
        return (scene, try #require(scene.session.rooms.first))
    }

    private static func puts(_ scene: SessionScene) -> [FakeRequest] {
        scene.server.requests("PUT", "v3/rooms/*/send/*/*")
    }

    // MARK: Encryption

    @Test func aRoomThatWasPlainMayBeEncryptedWithTheNextMessage() async throws {
        let server = try await FakeHomeserver.start()
        server.on(
            "GET", "v3/rooms/*/state/m.room.encryption",
            [.error(404, "M_NOT_FOUND"), .json(#"{"algorithm":"m.megolm.v1.aes-sha2"}"#)])
        server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        let client = MXRestClient.make(server)
        _ = try await client.sendTextMessage(toRoom: "!r:s", text: "for everybody")
        for _ in 0..<2 {
            await #expect {
                try await client.sendTextMessage(toRoom: "!r:s", text: "secret")
            } throws: { ($0 as? MatrixError)?.code == .encryptionNotAvailable }
        }
        #expect(server.requests("PUT", "v3/rooms/*/send/*/*").count == 1)
        // Encryption is permanent, so it is checked once.
        #expect(server.requests("GET", "v3/rooms/*/state/m.room.encryption").count == 2)
    }

    @Test func aRetryDoesNotSendInTheClearWhatIsEncryptedByNow() async throws {
        let (scene, room) = try await joined()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .page(502))
        let sending = Task { try await room.sendTextMessage("secret") }
        #expect(await scene.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*"))
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Self.encryption])))
        #expect(await eventually { room.summary.isEncrypted })
        await #expect { try await sending.value } throws: { ($0 as? MatrixError)?.code == .encryptionNotAvailable }
        #expect(room.outgoingMessages.first?.sentState == .failed)
    }

    @Test func neitherAFileNorAMessageThatHadFailedIsSentIntoARoomThatIsEncryptedByNow() async throws {
        let (scene, room) = try await joined()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .error(403, "M_FORBIDDEN"))
        await #expect(throws: MXError.self) { try await room.sendTextMessage("secret") }
        let failed = try #require(room.outgoingMessages.first)
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).txt")
        try Data("text".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        scene.server.on("GET", "v1/media/config", .json("{}"))
        scene.server.on(
            "POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://s/1"}"#).after(.seconds(1)))
        let sending = Task { try await room.sendMedia(file, mimeType: "text/plain") }
        #expect(await scene.server.hasBeenAsked("POST", "/_matrix/media/v3/upload"))
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Self.encryption])))
        #expect(await eventually { room.summary.isEncrypted })
        await #expect { try await sending.value } throws: { ($0 as? MatrixError)?.code == .encryptionNotAvailable }
        await #expect { try await room.resend(failed.eventId) } throws: {
            ($0 as? MatrixError)?.code == .encryptionNotAvailable
        }
        #expect(Self.puts(scene).count == 1)
    }

    // MARK: Sending again

    @Test func whatIsBeingSentAgainCannotBeGivenUp_norSentTwice() async throws {
        let (scene, room) = try await joined()
        scene.server.on(
            "PUT", "v3/rooms/*/send/*/*",
            [
                .error(403, "M_FORBIDDEN"), .json(#"{"event_id":"$2"}"#).after(.milliseconds(200)),
                .json(#"{"event_id":"$1"}"#),
            ])
        await #expect(throws: MXError.self) { try await room.sendTextMessage("one") }
        let failed = try #require(room.outgoingMessages.first).eventId
        let other = Task { try await room.sendTextMessage("two") }
        #expect(await eventually { Self.puts(scene).count == 2 })
        let again = Task { try await room.resend(failed) }
        #expect(await eventually { room.outgoingMessages.first?.sentState == .preparing })
        #expect(throws: MatrixError.self) { try room.removeOutgoingMessage(failed) }
        await #expect { try await room.resend(failed) } throws: { ($0 as? MatrixError)?.code == .eventNotFound }
        #expect(try await other.value == "$2")
        #expect(try await again.value == "$1")
        #expect(Self.puts(scene).count == 3)
    }

    @Test func aMessageThatWasGivenUpIsNotSentAgain() async throws {
        let (scene, room) = try await joined()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .error(403, "M_FORBIDDEN"))
        await #expect(throws: MXError.self) { try await room.sendTextMessage("one") }
        let failed = try #require(room.outgoingMessages.first).eventId
        try room.removeOutgoingMessage(failed)
        await #expect { try await room.resend(failed) } throws: { ($0 as? MatrixError)?.code == .eventNotFound }
        #expect(Self.puts(scene).count == 1)
    }

    @Test(arguments: [FakeAnswer.error(503, "M_UNKNOWN"), .error(429, "M_LIMIT_EXCEEDED", #""retry_after_ms":1"#)])
    func whatTheServerCannotDoNowIsTriedAgainUnderItsId(trouble: FakeAnswer) async throws {
        let (scene, room) = try await joined()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", [trouble, .json(#"{"event_id":"$1"}"#)])
        #expect(try await room.sendTextMessage("one") == "$1")
        #expect(Set(Self.puts(scene).map(\.rawPath)).count == 1)
    }

    @Test func whatMayHaveArrivedStays_andWhatWasRefusedDoesNot() async throws {
        let (scene, room) = try await joined { $0.sendRetryBound = .zero }
        let isLost = Lock(true)
        scene.server.on("PUT", "v3/rooms/*/send/*/*") { _ in
            isLost.withLock { $0 } ? .drop : .json(#"{"event_id":"$1"}"#)
        }
        let content = ["msgtype": "m.text", "body": "one"]
        await #expect(throws: MatrixError.self) { try await room.sendOnce(.roomMessage, content: content) }
        let failed = try #require(room.outgoingMessages.first)
        #expect(failed.sentState == .failed)
        isLost.withLock { $0 = false }
        #expect(try await room.resend(failed.eventId) == "$1")
        #expect(Set(Self.puts(scene).map(\.rawPath)).count == 1)
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .error(403, "M_FORBIDDEN"))
        await #expect(throws: MXError.self) { try await room.sendOnce(.roomMessage, content: content) }
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .drop)
        await #expect(throws: MatrixError.self) { try await room.react("+", toEvent: "$0", keepsFailed: false) }
        #expect(room.outgoingMessages.map(\.eventId) == ["$1"])
    }

    // MARK: Between the answer and the sync

    @Test(arguments: [true, false])
    func whatWasSentIsThereOnce_beforeAndAfterASyncBringsIt(namesTransaction: Bool) async throws {
        let (scene, room) = try await joined()
        let changes = Lock<[String]>([])
        let token = NotificationCenter.default.addObserver(
            forName: .mxEventDidChangeIdentifier, object: scene.session, queue: nil
        ) { note in changes.withLock { $0.append(note.userInfo?["eventId"] as? String ?? "") } }
        defer { NotificationCenter.default.removeObserver(token) }
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        try await room.sendTextMessage("one")
        let sent = try #require(room.outgoingMessages.first)
        #expect(sent.eventId == "$1" && sent.sentState == .sent && room.outgoingMessages.count == 1)
        let transaction = try #require(Self.puts(scene).first?.path.last)
        #expect(sent.transactionId == transaction)
        let unsigned = namesTransaction ? #","unsigned":{"transaction_id":"\#(transaction)"}"# : ""
        let event = #"""
            {"type":"m.room.message","event_id":"$1","sender":"@a:s","origin_server_ts":1,
            "content":{"msgtype":"m.text","body":"one"}\#(unsigned)}
            """#
        await scene.next(Sync.answer("s2", Sync.room(timeline: [event, Sync.message("$2")])))
        #expect(await eventually { room.summary.lastMessageId == "$2" })
        #expect(room.outgoingMessages.isEmpty)
        #expect(try room.storedMessages().map(\.eventId) == ["$0", "$1", "$2"])
        await scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$3")])))
        #expect(await eventually { room.summary.lastMessageId == "$3" })
        #expect(await eventually { changes.withLock { !$0.isEmpty } })
        #expect(changes.withLock { $0 } == ["$1"])
    }

    @Test func aGapSwallowsWhatWasSent() async throws {
        let (scene, room) = try await joined()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        try await room.sendTextMessage("one")
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$9")], isLimited: true, prevBatch: "p")))
        #expect(await eventually { room.summary.lastMessageId == "$9" })
        #expect(room.outgoingMessages.isEmpty)
    }

    @Test func whatWasSentOutlivesTheProcess() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sent-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (scene, room) = try await joined(MXFileStore(folder: folder))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        try await room.sendTextMessage("one")
        scene.session.close()
        let later = try await SessionScene(store: MXFileStore(folder: folder))
        let messages = later.session.rooms.first?.outgoingMessages
        #expect(messages?.map(\.eventId) == ["$1"] && messages?.first?.sentState == .sent)
    }

    // MARK: Reactions

    @Test func takingAReactionBackIsTold() async throws {
        let (scene, room) = try await joined()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$r"}"#))
        scene.server.on("PUT", "v3/rooms/*/redact/*/*", .json(#"{"event_id":"$x"}"#))
        try await room.react("+", toEvent: "$0")
        #expect(room.aggregations(forEvent: "$0")?.reactions?["+"]?.count == 1)
        let told = Lock<[Int]>([])
        let listener = room.listenToRelations { eventId in
            let count = room.aggregations(forEvent: eventId)?.reactions?["+"]?.count ?? 0
            told.withLock { $0.append(count) }
        }
        defer { room.removeListener(listener) }
        try await room.unreact("+", toEvent: "$0")
        #expect(await eventually { told.withLock { $0.last } == 0 })
    }

    // MARK: A store that fails

    @Test func whatTheStoreCannotKeepIsNotSent_andLeavesNothing() async throws {
        let store = ProbedStore()
        let (scene, room) = try await joined(store)
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        store.setFull(true)
        await #expect { try await room.sendTextMessage("one") } throws: { ($0 as? MatrixError)?.code == .store }
        #expect(room.outgoingMessages.isEmpty)
        #expect(Self.puts(scene).isEmpty)
        store.setFull(false)
        #expect(try await room.sendTextMessage("two") == "$1")
    }

    @Test func whatTheServerHasTakenAsReadIsRead_thoughTheStoreTakesItLater() async throws {
        let store = ProbedStore()
        let (scene, room) = try await joined(store)
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        #expect(await eventually { room.summary.lastMessageId == "$1" })
        #expect(room.summary.localUnreadEventCount > 0)
        scene.server.on("POST", "v3/rooms/*/read_markers", .ok)
        store.setFull(true)
        try await room.markAllAsRead()
        #expect(room.summary.localUnreadEventCount == 0)
        store.setFull(false)
        await scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await eventually { room.summary.localUnreadEventCount == 1 })
    }

    @Test func aPageThatCouldNotBeStoredLeavesNoHole() async throws {
        let store = ProbedStore()
        let (scene, room) = try await joined(store)
        scene.server.on(
            "GET", "v3/rooms/*/messages",
            [
                .json(#"{"start":"p0","end":"p1","chunk":[\#(Sync.message("$-1"))]}"#),
                .json(#"{"start":"p1","chunk":[\#(Sync.message("$-2"))]}"#),
            ])
        store.setFull(true)
        await #expect(throws: MatrixError.self) { try await room.liveTimeline.paginate(10) }
        store.setFull(false)
        room.liveTimeline.resetPagination()
        #expect(try await room.liveTimeline.paginate(10).map(\.eventId) == ["$0", "$-1", "$-2"])
    }

    @Test func whatASyncBroughtIsStoredBeforeWhatCameAfterIt() async throws {
        let store = ProbedStore()
        let (scene, room) = try await joined(store)
        store.setFull(true)
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")], prevBatch: "p1")))
        #expect(await eventually { scene.session.state == .syncError })
        await #expect { try await room.sendTextMessage("one") } throws: { ($0 as? MatrixError)?.code == .store }
        store.setFull(false)
        scene.session.reconnect()
        #expect(await eventually { (try? room.storedMessages().map(\.eventId)) == ["$0", "$1"] })
        #expect(room.outgoingMessages.isEmpty)
    }
}
