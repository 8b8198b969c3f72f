import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Forgeries of servers and other users.
@Suite struct HostileEventTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
    }

    /// An event as a server alters it.
    private func changed(
        _ event: EncryptedEvent, roomId: String? = nil, eventId: String? = nil, sender: String? = nil,
        isState: Bool = false, content: JSONView? = nil
    ) -> EncryptedEvent {
        EncryptedEvent(
            roomId: roomId ?? event.roomId, eventId: eventId ?? event.eventId, sender: sender ?? event.sender,
            time: event.time, isState: isState, content: content ?? event.content)
    }

    @Test(.rule("R19", "R37")) func whatAServerChangesIsRefused_withItsCause() throws {
        let event = try alice.send("x", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "x")
        #expect(try bob.text(event) == "x")  // a repeated delivery is not a replay
        #expect(try bob.failure(changed(event, eventId: "$other")) == .replay)
        #expect(try bob.failure(changed(event, sender: "@eve:s")) == .senderMismatch)
        #expect(try bob.failure(changed(event, isState: true)) == .forbiddenContent)
        #expect(try bob.failure(changed(event, roomId: "!other:s")) == .unknownSession)
        // The session in another room, where an import may put it.
        let session = try #require(event.content["session_id"]?.string)
        try bob.turn { _, turn in
            let record = try #require(try turn.records.value(InboundSessionRecord.self, scope: "!r:s", key: session))
            turn.records.set(record, scope: "!other:s", key: session)
        }
        #expect(try bob.failure(changed(event, roomId: "!other:s")) == .wrongRoom)
        let olm = object { $0.add("algorithm", Algorithm.olm) }
        #expect(try bob.failure(changed(event, content: olm)) == .unknownAlgorithm)
        #expect(
            try bob.failure(changed(event, content: object { $0.add("algorithm", Algorithm.megolm) }))
                == .damaged(.missingField))
    }

    @Test(.rule("R19")) func whatMayNotBeInsideIsRefused() throws {
        for type in ["m.room.encrypted", "m.room.redaction"] {
            let event = try alice.send("x", to: room, type: type)
            try bob.sync()
            #expect(try bob.failure(event) == .forbiddenContent)
        }
    }

    /// Another user's file has different keys under the IDs of real sessions.
    @Test func aKeyThatDoesNotOpenWhatItsOwnerHasSignedGivesWay() throws {
        let event = try alice.send("x", to: room)
        let good = try #require(try alice.turn { try $0.exportSessions(&$1) }.first)
        let bad = try falseKey(for: good, index: 0)
        let reader = try bob.second("B2")
        #expect(try reader.turn { try $0.importSessions([bad], &$1) } == 1)
        #expect(try reader.turn { try $0.importSessions([good], &$1) } == 0)  // unknown which one is right
        #expect(try reader.failure(event) == .unknownSession)
        #expect(try reader.turn { try $0.sessionsToBackUp(&$1) } == 0)
        #expect(try reader.turn { try $0.importSessions([good], from: .backup, &$1) } == 1)
        #expect(try reader.text(event) == "x")
        // A session that has decrypted its owner's event is kept when a server sends an altered one.
        let damaged = try changed(event, eventId: "$d", content: event.content.with(ciphertext: { $0[20] ^= 1 }))
        #expect(try reader.failure(damaged) == .damaged(.signature))
        #expect(try reader.text(event) == "x")
    }

    /// Like the test before, but the false key begins so late that no event disproves it.
    @Test func aFalseKeyThatBeginsLateDoesNotKeepTheRightOneOut() throws {
        let event = try alice.send("x", to: room)
        let good = try #require(try alice.turn { try $0.exportSessions(&$1) }.first)
        let bad = try falseKey(for: good, index: 1_000)
        let reader = try bob.second("B2")
        #expect(try reader.turn { try $0.importSessions([bad], from: .backup, &$1) } == 1)
        #expect(try reader.failure(event) == .tooEarly)
        reader.takeNotices()
        #expect(try reader.turn { try $0.importSessions([good], from: .backup, &$1) } == 1)
        #expect(reader.notices.contains(.roomKey(roomId: "!r:s", sessionId: good.sessionID)))
        #expect(try reader.text(event) == "x")
        #expect(try reader.session(good.sessionID)?.session.firstIndex == 0)
        // It has decrypted its owner's event: no other session replaces it.
        #expect(try reader.turn { try $0.importSessions([bad], from: .imported, &$1) } == 0)
        #expect(try reader.text(event) == "x")
    }

    /// Two false keys; the second begins earlier than the right one.
    @Test func aFalseKeyThatBeginsEarlierDoesNotTakeTheRightOnesPlace() throws {
        _ = try alice.send("first", to: room)
        let all = try #require(try alice.turn { try $0.exportSessions(&$1) }.first)
        let event = try alice.send("x", to: room)
        var session = try InboundGroupSession(exported: all.sessionKey)
        session = try InboundGroupSession(exported: session.exported(at: 1))
        let good = try ExportedSession(
            roomID: "!r:s", senderKey: all.senderKey, senderClaimedKey: all.senderClaimedKey, forwardingChain: [],
            sessionKey: session.exported(), isSharedHistory: true)
        let reader = try bob.second("B2")
        #expect(try reader.turn { try $0.importSessions([good], from: .backup, &$1) } == 1)
        _ = try reader.turn { try $0.importSessions([falseKey(for: good, index: 0)], from: .history, &$1) }
        #expect(try reader.text(event) == "x")
    }

    /// Other devices would receive worthless keys.
    @Test func aKeyThatIsProvedWrongIsNotPassedOn() throws {
        let event = try alice.send("x", to: room)
        let good = try #require(try alice.turn { try $0.exportSessions(&$1) }.first)
        let reader = try bob.second("B2")
        _ = try reader.turn { try $0.importSessions([falseKey(for: good, index: 0)], from: .backup, &$1) }
        #expect(try reader.turn { try $0.exportSessions(&$1) }.count == 1)
        #expect(try reader.failure(event) == .unknownSession)
        #expect(try reader.turn { try $0.exportSessions(&$1) }.isEmpty)
        #expect(try reader.turn { try $0.historyBundle(of: "!r:s", &$1) } == nil)
        try reader.turn { try $0.markAllForBackup(&$1) }
        #expect(try reader.turn { try $0.sessionsToBackUp(&$1) } == 0)
        #expect(try reader.turn { try $0.importSessions([good], from: .imported, &$1) } == 1)
        #expect(try reader.turn { try $0.exportSessions(&$1) }.count == 1)
    }

    /// Another ratchet under the ID of a real session.
    private func falseKey(for good: ExportedSession, index: UInt32) throws -> ExportedSession {
        let bytes = good.sessionKey.withUnsafeBytes { Array($0) }
        let number = (0..<4).reversed().map { UInt8(truncatingIfNeeded: index >> (8 * $0)) }
        return try ExportedSession(
            roomID: "!r:s", senderKey: good.senderKey, senderClaimedKey: good.senderClaimedKey, forwardingChain: [],
            sessionKey: SecretBytes(bytes[..<1] + number + [UInt8](repeating: 7, count: 128) + bytes[133...]),
            isSharedHistory: true)
    }

    // MARK: Pending events

    private func wait(_ count: Int, of user: String = "@eve:s", in roomId: String = "!r:s", for session: String) throws
    {
        let content = object { writer in
            writer.add("algorithm", Algorithm.megolm)
            writer.add("session_id", session)
            writer.add("ciphertext", "AAAA")
        }
        try bob.turn { machine, turn in
            for number in 0..<count {
                _ = try machine.decrypt(
                    EncryptedEvent(
                        roomId: roomId, eventId: "$\(session)-\(user)-\(number)", sender: user, time: 1, isState: false,
                        content: content), &turn)
            }
        }
    }

    private func waiting(for session: String, in roomId: String = "!r:s") throws -> Int {
        try bob.turn { try $0.takeWaiting(roomId: roomId, sessionId: session, &$1) }.count
    }

    /// Such events cost their sender nothing.
    @Test func eventsThatWaitForKeysAreBoundedForEachSenderInARoom() throws {
        try wait(15_000, for: "a")
        try wait(15_000, for: "b")
        try wait(10, of: "@alice:s", for: "a")
        try wait(10, in: "!other:s", for: "c")
        try wait(10, in: "!other:s", for: "c")  // the same again
        #expect(try waiting(for: "b") == 5_000)
        #expect(try waiting(for: "c", in: "!other:s") == 10)
        try wait(5_001, for: "d")
        #expect(try waiting(for: "d") == 5_000)
        #expect(try waiting(for: "a") == 15_010)
    }

    @Test func nothingWaitsForARoomThatWasLeft() throws {
        try wait(20_000, for: "a")
        try wait(10, in: "!other:s", for: "a")
        try bob.turn { try $0.noteOwnLeaving(of: "!r:s", &$1) }
        #expect(try waiting(for: "a") == 0)
        #expect(try waiting(for: "a", in: "!other:s") == 10)
        try wait(20_000, for: "b")
        #expect(try waiting(for: "b") == 20_000)
    }

    @Test func theRelationOfTheOutsideCounts() throws {
        let content = object { writer in
            writer.add("body", "x")
            writer.add("m.relates_to", object { $0.add("event_id", "$outside") })
        }
        let event = try alice.send("", to: room, content: content)
        try bob.sync()
        #expect(event.content["m.relates_to"]?["event_id"]?.string == "$outside")
        let clear = try bob.read(event).get()
        #expect(clear["content"]?["m.relates_to"]?["event_id"]?.string == "$outside")
        #expect(clear["content"]?.members.count { $0.key == "m.relates_to" } == 1)
    }

    @Test(.rule("R33")) func roomKeysComeByOlmAlone() throws {
        let event = try alice.send("x", to: room)
        try bob.sync()
        bob.takeNotices()
        // A message to the device, encrypted like one of a room.
        server.inject(
            object { writer in
                writer.add("type", "m.room.encrypted")
                writer.add("sender", "@alice:s")
                writer.add("content", event.content)
            }, to: bob.address)
        // And an unencrypted one.
        let session = OutboundGroupSession(random: .system)
        let key = object { writer in
            writer.add("algorithm", Algorithm.megolm)
            writer.add("room_id", "!r:s")
            writer.add("session_id", session.id)
            writer.add("session_key", UnpaddedBase64.encode(session.sessionKey))
        }
        for type in ["m.room_key", "m.forwarded_room_key"] {
            server.inject(
                object { writer in
                    writer.add("type", type)
                    writer.add("sender", "@alice:s")
                    writer.add("content", key)
                }, to: bob.address)
        }
        try bob.sync()
        #expect(bob.takeNotices() == [.dropped(type: "m.room.encrypted", sender: "@alice:s", .version)])
        try bob.turn { _, turn in
            let known = try turn.records.value(InboundSessionRecord.self, scope: "!r:s", key: session.id)
            #expect(known == nil)
        }
    }

    @Test(.rule("R21")) func forgedRefusalsLoseNoKey() throws {
        let event = try alice.send("x", to: room)
        let session = try #require(event.content["session_id"]?.string)
        let refusal = object { writer in
            writer.add("type", "m.room_key.withheld")
            writer.add("sender", "@eve:s")
            writer.add(
                "content",
                object { content in
                    content.add("algorithm", Algorithm.megolm)
                    content.add("room_id", "!r:s")
                    content.add("session_id", session)
                    content.add("code", "m.blacklisted")
                })
        }
        server.inject(refusal, to: bob.address)
        try bob.sync()
        #expect(try bob.text(event) == "x")
        // It does not even explain another user's event.
        let other = try alice.send("y", to: RoomToEncrypt.room("@alice:s"))
        #expect(try bob.failure(other) == .unknownSession)
        let requests = server.requests.count
        for _ in 0..<100 { server.inject(refusal, to: bob.address) }
        try bob.sync()
        #expect(server.requests.count == requests)
    }

    /// `olm_payload_refused` of events.json: payloads of Olm messages, and their claimed senders.
    @Test func payloadsThatClaimToBeOfSomebodyElseAreRefused() throws {
        let vectors = Vectors.file("events")
        for vector in try vectors.list("olm_payload_refused") {
            let (name, why) = (try vector.text("name"), try vector.text("why"))
            let records = MemoryRecords()
            var turn = CryptoTurn(Records(records), now: 1, random: .system)
            turn.records.set(try OlmAccount(vectors.value("bob")))
            let bob = DeviceAddress(try vectors.value("bob").text("user"), try vectors.value("bob").text("device"))
            var machine = try CryptoMachine(me: bob, &turn)
            if let known = vector["known_device"]?.array, known.count == 2 {
                let keys = try Self.device(ed25519: known[0].string ?? "", curve25519: known[1].string ?? "")
                machine.remember(DeviceRecord(keys: keys, isListed: true, firstSeen: 1), &turn)
            }
            let event = try vector.value("event")
            let senderKey = try Curve25519PublicKey(base64: try event.value("content").text("sender_key"))
            let payload = try vector.value("payload")
            turn.notices = []
            do {
                try machine.receive(payload, from: try event.text("sender"), senderKey, &turn)
                // Keys of unknown devices are pending, and dropped when the server does not list the devices.
                #expect(!turn.notices.contains { if case .roomKey = $0 { true } else { false } }, "\(name)")
                try machine.releaseHeldMessages(of: try event.text("sender"), isFinal: true, &turn)
                guard case .dropped(_, _, let error) = turn.notices.last else {
                    Issue.record("\(name) is taken")
                    continue
                }
                #expect(error.rawValue == why || why == "device keys" && error == .unknownDevice, "\(name)")
            } catch let error as EncryptionError {
                #expect(error.rawValue == why, "\(name)")
            }
        }
    }

    private static func device(ed25519: String, curve25519: String) throws -> DeviceKeys {
        let json = object { writer in
            writer.add("user_id", "@alice:hs.test")
            writer.add("device_id", "ALICEDEV")
            writer.add(
                "keys",
                object { keys in
                    keys.add("ed25519:ALICEDEV", ed25519)
                    keys.add("curve25519:ALICEDEV", curve25519)
                })
        }
        return try DeviceKeys(stored: json, user: "@alice:hs.test", device: "ALICEDEV")
    }

    /// The exchange of events.json: a room key sent by vodozemac, and a message that it decrypts.
    @Test func aForeignExchangeIsRead() throws {
        let vectors = Vectors.file("events")
        let records = MemoryRecords()
        var turn = CryptoTurn(Records(records), now: 1, random: .system)
        turn.records.set(try OlmAccount(vectors.value("bob")))
        let bob = DeviceAddress(try vectors.value("bob").text("user"), try vectors.value("bob").text("device"))
        var machine = try CryptoMachine(me: bob, &turn)
        var sync = CryptoSync()
        sync.toDevice = [try vectors.value("room_key_event")]
        try machine.receive(sync, &turn)
        let room = try vectors.value("room_event")
        let event = EncryptedEvent(
            roomId: try room.text("room_id"), eventId: try room.text("event_id"), sender: try room.text("sender"),
            time: 1,
            isState: false, content: try room.value("content"))
        let clear = try machine.decrypt(event, &turn).get()
        #expect(clear["content"]?["body"]?.string == "hello")
        // Only the device itself has named it.
        let shield = try machine.shield(
            roomId: event.roomId, sessionId: event.content["session_id"]?.string ?? "", &turn)
        #expect(shield == .unsignedDevice)
    }
}

extension JSONView {
    /// The content of an encrypted event as a server alters it.
    fileprivate func with(ciphertext change: (inout [UInt8]) -> Void) throws -> JSONView {
        var bytes = try UnpaddedBase64.decode(self["ciphertext"]?.string ?? "")
        change(&bytes)
        return object { writer in
            for (key, value) in members where key != "ciphertext" { writer.add(key, value) }
            writer.add("ciphertext", UnpaddedBase64.encode(bytes))
        }
    }
}
