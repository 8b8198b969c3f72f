import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// What servers and other users forge.
@Suite struct HostileEventTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
    }

    /// An event as a server changes it.
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
        #expect(try bob.text(event) == "x")  // the same again is no replay
        #expect(try bob.failure(changed(event, eventId: "$other")) == .replay)
        #expect(try bob.failure(changed(event, sender: "@eve:s")) == .senderMismatch)
        #expect(try bob.failure(changed(event, isState: true)) == .forbiddenContent)
        #expect(try bob.failure(changed(event, roomId: "!other:s")) == .unknownSession)
        // The session in another room: an import may put it there.
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
        // A message to the device that is encrypted as one of a room.
        server.inject(
            object { writer in
                writer.add("type", "m.room.encrypted")
                writer.add("sender", "@alice:s")
                writer.add("content", event.content)
            }, to: bob.address)
        // And one in clear.
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
        // Of somebody else it does not even explain.
        let other = try alice.send("y", to: RoomToEncrypt.room("@alice:s"))
        #expect(try bob.failure(other) == .unknownSession)
        let requests = server.requests.count
        for _ in 0..<100 { server.inject(refusal, to: bob.address) }
        try bob.sync()
        #expect(server.requests.count == requests)
    }

    /// `olm_payload_refused` of events.json: what was inside of an Olm message, and whom it claims to be from.
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
                // What is unknown waits, and is dropped when the server does not name it.
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

    /// The exchange of events.json: a room key that vodozemac sent, and a message that it opens.
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
        // Nobody but the device itself has named it.
        let shield = try machine.shield(
            roomId: event.roomId, sessionId: event.content["session_id"]?.string ?? "", &turn)
        #expect(shield == .unsignedDevice)
    }
}
