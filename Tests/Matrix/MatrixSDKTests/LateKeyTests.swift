import Basics
import EncryptionTestSupport
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// Late keys: to other devices, and to us.
@Suite(.overSockets)
struct LateKeyTests {
    private let bob: @Sendable (LyingHomeserver.World) -> TestDevice = { $0.bob }

    private func sent(in scene: EncryptedScene) -> Int {
        scene.home.server.requests("PUT", "v3/rooms/*/send/*/*").count
    }

    /// With a shorter wait, a busy machine would skip him for the first messages.
    private func bobHasRead(in scene: EncryptedScene) async -> Bool {
        await eventually {
            try? scene.crypto.discardOutboundGroupSessionForRoom(withRoomId: "!r:s")
            guard let id = try? await scene.room.sendTextMessage("before") else { return false }
            return (try? scene.reads(id, bob)) == "before"
        }
    }

    /// Readers of later messages would lack their key.
    @Test func aMessageWhoseKeysAreNotTakenFails_soDoThoseAfterIt_andBothCanBeSentAgain() async throws {
        let scene = try await EncryptedScene { options in
            options.keyPatience = .seconds(3)
            options.keySharingPatience = .milliseconds(300)
        }
        let room = try scene.room
        #expect(await bobHasRead(in: scene))
        let before = sent(in: scene)
        try scene.crypto.discardOutboundGroupSessionForRoom(withRoomId: "!r:s")
        scene.home.server.setGate { request in
            request.rawPath.contains("/sendToDevice/") ? .error(503, "M_UNKNOWN") : nil
        }
        for text in ["first", "second"] {
            await #expect { try await room.sendTextMessage(text) } throws: { error in
                let error = error as? MatrixError
                return error?.code == .timedOut && error?.message.contains("not sent") == true
            }
        }
        #expect(sent(in: scene) == before)
        #expect(room.outgoingMessages.map(\.sentState) == [.failed, .failed])
        scene.home.server.setGate(nil)
        for (message, text) in zip(room.outgoingMessages, ["first", "second"]) {
            let id = try await room.resend(message.eventId)
            #expect(await scene.hears(id))
            #expect(try scene.reads(id, bob) == text)
        }
        #expect(room.outgoingMessages.isEmpty)
    }

    /// After failures, pauses grow to ten minutes.
    @Test func whatHasFailedDuringAnOutageIsTriedAgainWhenItIsOver() async throws {
        let scene = try await EncryptedScene()
        scene.home.server.setGate { _ in .error(503, "M_UNKNOWN") }
        #expect(await eventually { scene.session.state != .running && scene.session.state != .syncInProgress })
        let core = scene.session.core
        try core.cryptoCommand { machine, turn in try machine.refresh(["@b:s"], &turn) }
        #expect(
            await eventually {
                (try? core.encryption { machine, _, _, _ in machine.nextRetry ?? 0 > AccessTokens.now }) == true
            })
        let before = scene.home.server.requests("POST", "v3/keys/query").count
        scene.home.server.setGate(nil)
        // On its own it would wait for fifteen seconds.
        #expect(
            await eventually(within: .seconds(10)) {
                scene.home.server.requests("POST", "v3/keys/query").count > before
            })
    }

    /// An unanswered claim is not an error: devices that could be reached read the message.
    @Test func whoGivesNoOneTimeKeysKeepsNobodyFromReading() async throws {
        let scene = try await EncryptedScene { options in
            options.keyPatience = .seconds(3)
            options.keySharingPatience = .seconds(30)
        }
        #expect(await bobHasRead(in: scene))
        scene.home.server.setGate { request in
            request.rawPath.contains("/keys/claim") ? FakeAnswer.silence : nil
        }
        try scene.home.with { $0.setMember("@e:s") }
        try await scene.isUpToDate()
        try scene.crypto.discardOutboundGroupSessionForRoom(withRoomId: "!r:s")
        let id = try await scene.room.sendTextMessage("second")
        #expect(try scene.reads(id, bob) == "second")
    }

    /// More events were pending than are remembered, or their room was left meanwhile.
    @Test func aStoredEventIsReadWhenSomebodyLooksAtIt() async throws {
        let scene = try await EncryptedScene()
        let (event, key) = try scene.home.with { world in
            let event = try world.say("read late", by: world.bob)
            let key = world.keys.devices[LyingHomeserver.client]?.messages.popLast()
            world.tell(event)
            return (event, key)
        }
        #expect(await scene.hears(event.eventId, .unknownSession))
        let sessionId = event.content["session_id"]?.string ?? ""
        let forgotten = try scene.session.core.encryption { machine, turn, _, _ in
            try machine.takeWaiting(roomId: "!r:s", sessionId: sessionId, &turn)
        }
        #expect(forgotten == [event.eventId])
        try scene.home.with { world in world.keys.inject(try #require(key), to: LyingHomeserver.client) }
        #expect(
            await eventually {
                (try? scene.session.core.account.hasRecord(
                    RecordKey(.inboundSession, scope: "!r:s", key: sessionId))) == true
            })
        try await scene.isUpToDate()
        #expect(scene.heard(event.eventId)?.isDecrypted == false)
        let timeline = try scene.room.liveTimeline
        timeline.resetPagination()
        let page = try await timeline.paginate(20, onlyFromStore: true)
        #expect(page.first { $0.eventId == event.eventId }?.body == "read late")
        #expect(await scene.hears(event.eventId, "read late"))
        #expect(try scene.room.storedMessages().contains { $0.body == "read late" })
    }

    /// The server no longer reports changes of their devices.
    @Test func whoHasLeftIsNotTrackedAgain() throws {
        var turn = CryptoTurn(Records(MemoryRecords()), now: 1_700_000_000_000, random: .system)
        var machine = try CryptoMachine(me: DeviceAddress("@a:s", "A"), &turn)
        func answer(_ kind: String, left: [String]) throws -> SyncResponse {
            let users = left.map { "\"\($0)\"" }.joined(separator: ",")
            return try SyncResponse(
                Array(
                    #"""
                    {"next_batch":"s","device_lists":{"changed":[],"left":[\#(users)]},"rooms":{"\#(kind)":{"!r:s":{
                    "state":{"events":[{"type":"m.room.encryption","sender":"@b:s","event_id":"$e","state_key":"",
                    "origin_server_ts":1,"content":{"algorithm":"m.megolm.v1.aes-sha2"}}]},
                    "timeline":{"events":[{"type":"m.room.member","sender":"@b:s","state_key":"@b:s","event_id":"$b",
                    "origin_server_ts":1,"content":{"membership":"join"}},{"type":"m.room.encrypted","sender":"@c:s",
                    "event_id":"$c","origin_server_ts":1,"content":{"algorithm":"m.megolm.v1.aes-sha2"}}]}}}}}
                    """#.utf8))
        }
        func areTracked() throws -> [Bool] { try ["@b:s", "@c:s"].map { try machine.isTracked($0, &turn) } }
        var response = try answer("join", left: [])
        try machine.read(&response, isInitial: false, &turn)
        #expect(try areTracked() == [true, true])
        response = try answer("join", left: ["@c:s"])
        try machine.read(&response, isInitial: false, &turn)
        #expect(try areTracked() == [true, false])
        response = try answer("leave", left: ["@b:s", "@c:s"])
        try machine.read(&response, isInitial: false, &turn)
        #expect(try areTracked() == [false, false])
    }
}
