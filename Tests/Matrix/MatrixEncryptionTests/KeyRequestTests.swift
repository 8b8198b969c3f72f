import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Room keys that devices request from each other.
@Suite struct KeyRequestTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
        try alice.makeIdentity()
    }

    private func forwarded(
        _ session: ExportedSession, id: String? = nil, roomId: String = "!r:s", algorithm: String = Algorithm.megolm
    ) -> JSONView {
        object { writer in
            writer.add("algorithm", algorithm)
            writer.add("room_id", roomId)
            writer.add("session_id", id ?? session.sessionID)
            writer.add("session_key", UnpaddedBase64.encode(session.sessionKey))
            writer.add("sender_key", session.senderKey.base64)
            writer.add("sender_claimed_ed25519_key", alice.machine.account.ed25519.publicKey.base64)
            writer.add("forwarding_curve25519_key_chain", json: "[]")
        }
    }

    // MARK: Requesting

    @Test func aVerifiedDeviceIsGivenWhatWasSaidBefore() throws {
        let event = try bob.send("before", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.verify(second)
        try second.know("@bob:s")
        #expect(try second.failure(event) == .unknownSession)
        #expect(try second.failure(event) == .unknownSession)
        try second.pump()
        let asked = alice.waitingMessages("m.room_key_request")
        #expect(asked.count == 1)
        // Older clients use it to find the session.
        let senderKey = asked.first?["content"]?["body"]?["sender_key"]?.string
        #expect(senderKey == bob.machine.account.curve25519.publicKey.base64)
        try alice.sync()
        try second.sync()
        #expect(try second.text(event) == "before")
        let shield = try second.turn { try $0.shield(roomId: "!r:s", sessionId: event.sessionId, &$1) }
        #expect(shield == .authenticityNotGuaranteed)
        let record = try #require(try second.session(event.sessionId))
        #expect(record.source == .forwarded && record.user == "@bob:s")
        #expect(record.forwarders == [alice.machine.account.curve25519.publicKey])
        // The key has arrived, so the request is cancelled.
        let requests = alice.waitingMessages("m.room_key_request").compactMap { $0["content"]?["action"]?.string }
        #expect(requests == ["request_cancellation"])
        try second.restart()
        #expect(try second.text(event) == "before")
    }

    @Test func anEarlierKeyIsAskedForToo_andItsOwnerStaysAFact() throws {
        let first = try bob.send("first", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.verify(second)
        try bob.sync()
        let next = try bob.send("second", to: room)
        #expect(first.sessionId == next.sessionId)
        try second.sync()
        #expect(try second.text(next) == "second")
        #expect(try second.failure(first) == .tooEarly)
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.text(first) == "first")
        #expect(try second.session(first.sessionId)?.source == .direct)
    }

    @Test func theUserMayAskAgain() throws {
        let event = try bob.send("x", to: room)
        let second = try alice.second()
        try alice.verify(second)
        #expect(try second.failure(event) == .unknownSession)
        try second.pump()
        server.devices[alice.address]?.messages.removeAll { $0["type"]?.string == "m.room_key_request" }  // lost
        try alice.sync()
        try second.sync()
        #expect(try second.failure(event) == .unknownSession)
        try second.turn { try $0.requestAgain(roomId: "!r:s", sessionId: event.sessionId, &$1) }
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.text(event) == "x")
    }

    /// Any member of the room may send an event that names the session.
    @Test func whatAnEventClaimsOfItsSendersKeyIsNotPassedOn() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.verify(second)
        try second.know("@bob:s")
        let claims = [("@bob:s", "nonsense"), ("@eve:s", event.content["sender_key"]?.string ?? "")]
        for (number, (sender, key)) in claims.enumerated() {
            let content = object { writer in
                for (name, value) in event.content.members where name != "sender_key" { writer.add(name, value) }
                writer.add("sender_key", key)
            }
            let forged = EncryptedEvent(
                roomId: "!r:s", eventId: "$forged\(number)", sender: sender, time: 1, isState: false, content: content)
            #expect(try second.failure(forged) == .unknownSession)
            try second.pump()
            let asked = try #require(alice.waitingMessages("m.room_key_request").last?["content"])
            #expect(asked["body"]?["session_id"]?.string == event.sessionId)
            #expect(asked["body"]?["sender_key"] == nil)
            try second.turn { try $0.requestAgain(roomId: "!r:s", sessionId: event.sessionId, &$1) }
        }
    }

    /// Those records lack the sender's key.
    @Test func whatAnEarlierVersionHasNotedIsStillSought() throws {
        let event = try bob.send("x", to: room)
        let second = try alice.second()
        #expect(try second.failure(event) == .unknownSession)
        let key = "!r:s\n" + event.sessionId
        var writer = StateWriter(version: 1)
        writer.append(second.now)
        writer.append(UInt64(7))
        writer.append(MissingSessionRecord.Request(id: "q", devices: ["OLD"])) { writer, request in
            writer.append(request.id)
            writer.append(request.devices) { $0.append($1) }
        }
        let record = try MissingSessionRecord(state: writer.state)
        #expect(record.wanted == second.now && record.sought == 7 && record.senderKey == nil)
        #expect(record.request == .init(id: "q", devices: ["OLD"]))
        #expect(try MissingSessionRecord(state: record.state) == record)
        try second.turn { $1.records.set(record, key: key) }
        try alice.verify(second)
        try second.turn { try $0.requestAgain(roomId: "!r:s", sessionId: event.sessionId, &$1) }
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.text(event) == "x")
    }

    @Test func nobodyIsAskedAsLongAsNoDeviceIsVerified() throws {
        let event = try bob.send("x", to: room)
        let second = try alice.second()
        #expect(try second.failure(event) == .unknownSession)
        try second.pump()
        #expect(alice.waitingMessages("m.room_key_request").isEmpty)
        try alice.sync()
        try alice.verify(second)
        #expect(try alice.text(event) == "x")
        try second.sync()  // the answer to the request that was made once there was a device to ask
        #expect(try second.text(event) == "x")
    }

    @Test func aRoomFullOfUnknownSessionsIsNotAskedForWithoutEnd() throws {
        let second = try alice.second()
        try alice.verify(second)
        let sent = server.requests.count
        for number in 0..<1_500 {
            _ = try second.failure(Self.event("\(number)"))
            if number % 300 == 0 { try second.pump() }
        }
        try second.pump()
        #expect(server.requests.count - sent == 100)
        let kept = try second.turn { try $1.records.values(MissingSessionRecord.self).count }
        #expect(kept <= 1_000)
        second.now += 3_600_000
        _ = try second.failure(Self.event("later"))
        try second.pump()
        #expect(server.requests.count - sent == 200)
    }

    private static func event(_ sessionId: String) -> EncryptedEvent {
        EncryptedEvent(
            roomId: "!r:s", eventId: "$" + sessionId, sender: "@bob:s", time: 1, isState: false,
            content: object { writer in
                writer.add("algorithm", Algorithm.megolm)
                writer.add("session_id", sessionId)
                writer.add("ciphertext", "AA")
            })
    }

    // MARK: Receiving

    @Test(.rule("R22")) func aKeyThatNobodyHasAskedForIsDropped() throws {
        let second = try alice.second()
        try alice.verify(second)
        let session = try alice.makeSessions(1)[0]
        try alice.sendSecretly("m.forwarded_room_key", forwarded(session), to: second)
        try second.sync()
        #expect(second.dropped == [.unasked])
        #expect(try second.session(session.sessionID) == nil)
    }

    @Test(.rule("R22")) func aKeyOfAnotherUserOrOfAnUnverifiedDeviceIsDropped() throws {
        let second = try alice.second()
        let third = try alice.second("A3")
        try alice.verify(second)
        let session = try bob.makeSessions(1)[0]
        #expect(try second.failure(Self.event(session.sessionID)) == .unknownSession)
        try second.pump()  // the request goes to A3, too
        for sender in [bob, third] {
            try sender.sendSecretly("m.forwarded_room_key", forwarded(session), to: second)
            second.takeNotices()
            try second.sync()
            #expect(second.dropped == [.untrusted], "\(sender.address)")
            #expect(try second.session(session.sessionID) == nil)
        }
        // The request is still open.
        try alice.sendSecretly("m.forwarded_room_key", forwarded(session), to: second)
        try second.sync()
        #expect(try second.session(session.sessionID)?.source == .forwarded)
    }

    @Test(.rule("R22")) func aKeyOfADeviceThatWasNotAskedIsDropped() throws {
        let second = try alice.second()
        try alice.verify(second)
        let session = try bob.makeSessions(1)[0]
        #expect(try second.failure(Self.event(session.sessionID)) == .unknownSession)
        try second.pump()
        let third = try alice.second("A3")
        try alice.verify(third)
        try second.sync()
        try third.sendSecretly("m.forwarded_room_key", forwarded(session), to: second)
        second.takeNotices()
        try second.sync()
        #expect(second.dropped == [.unasked])
    }

    /// The session had no known owner when it arrived.
    @Test(.rule("R19")) func aMessageOfAnotherThanTheOwnerIsRefused_alsoWhenTheOwnerIsKnownLater() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let exported = try alice.turn { try $0.exportSessions(&$1) }
        let second = try alice.second()
        #expect(try second.turn { try $0.importSessions(exported, &$1) } == 1)
        #expect(try second.session(event.sessionId)?.user == "")
        let forged = EncryptedEvent(
            roomId: "!r:s", eventId: "$forged", sender: "@eve:s", time: 1, isState: false, content: event.content)
        try second.know("@bob:s")
        #expect(try second.failure(forged) == .senderMismatch)
        #expect(try second.text(event) == "x")
    }

    @Test(.rule("R22")) func aKeyThatIsNotTheOneAskedForIsDropped() throws {
        let second = try alice.second()
        try alice.verify(second)
        let sessions = try bob.makeSessions(2)
        #expect(try second.failure(Self.event(sessions[0].sessionID)) == .unknownSession)
        try second.pump()
        let wrong =
            [
                (forwarded(sessions[1]), .unasked), (forwarded(sessions[1], id: sessions[0].sessionID), .ids),
                (forwarded(sessions[0], roomId: "!other:s"), .unasked),
                (forwarded(sessions[0], algorithm: "m.x"), .algorithm),
            ] as [(JSONView, EncryptionError)]
        for (content, error) in wrong {
            try alice.sendSecretly("m.forwarded_room_key", content, to: second)
            second.takeNotices()
            try second.sync()
            #expect(second.dropped == [error])
        }
        #expect(try second.session(sessions[0].sessionID) == nil)
    }

    /// A forwarded key proves nothing: it may be forged for the ID of a session that came from its owner.
    @Test func aForgedEarlierKeyDoesNotTakeTheOwnersPlace() throws {
        _ = try bob.send("first", to: room)
        let second = try alice.second()
        try alice.verify(second)
        try bob.sync()
        let next = try bob.send("second", to: room)
        try second.sync()
        let key = try #require(try second.session(next.sessionId)).session.exported()
        var bytes = key.withUnsafeBytes { Array($0) }
        (bytes[4], bytes[100]) = (0, bytes[100] ^ 1)  // index 0, another ratchet
        let forged = try ExportedSession(
            roomID: "!r:s", senderKey: bob.machine.account.curve25519.publicKey, senderClaimedKey: nil,
            forwardingChain: [], sessionKey: SecretBytes(bytes), isSharedHistory: false)
        #expect(try second.failure(Self.event(next.sessionId)) != nil)
        try second.turn { try $0.noteMissing("!r:s", next.sessionId, senderKey: nil, &$1) }
        try second.pump()
        try alice.sendSecretly("m.forwarded_room_key", forwarded(forged), to: second)
        second.takeNotices()
        try second.sync()
        #expect(second.dropped.contains(.sessionKey))
        #expect(try second.text(next) == "second")
        #expect(try second.session(next.sessionId)?.session.firstIndex == 1)
    }

    /// An attacker who can replace our identity gets no keys.
    @Test(.rule("R32")) func afterAResetByTheServerNobodyIsAnswered() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.verify(second)
        try second.sync()
        let other = KeyServer()
        let mallory = try TestDevice("@alice:s", "M", on: other)
        try mallory.makeIdentity()
        server.identities["@alice:s"] = other.identities["@alice:s"]
        server.addDevice(mallory.address)
        server.devices[mallory.address]?.keys = other.devices[mallory.address]?.keys
        server.noteChange(of: "@alice:s")
        try alice.sync()
        for device in ["M", "A2"] {
            alice.inject("m.room_key_request", from: "@alice:s", keyRequest(event.sessionId, from: device, id: device))
            let secret = object { writer in
                writer.add("name", "m.cross_signing.master")
                writer.add("action", "request")
                writer.add("requesting_device_id", device)
                writer.add("request_id", "secret")
            }
            alice.inject("m.secret.request", from: "@alice:s", secret)
        }
        try alice.sync()
        for device in [mallory.address, second.address] {
            #expect(server.messages(to: device).allSatisfy { $0["type"]?.string == "m.room_key.withheld" })
        }
    }

    // MARK: Answering

    @Test func anUnverifiedDeviceIsToldOnce_andAnsweredWhenItIsVerified() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let second = try alice.second()
        for id in ["1", "2"] {
            alice.inject("m.room_key_request", from: "@alice:s", keyRequest(event.sessionId, from: "A2", id: id))
        }
        alice.inject("m.room_key_request", from: "@alice:s", keyRequest("unknown", from: "A2", id: "3"))
        try alice.sync()
        alice.inject("m.room_key_request", from: "@alice:s", keyRequest("other", from: "A2", id: "4"))
        try alice.sync()
        #expect(second.waitingMessages("m.room.encrypted").isEmpty)
        #expect(second.waitingMessages("m.room_key.withheld").count == 1)
        try alice.turn { try $0.signDevice("A2", &$1) }
        try alice.pump()
        #expect(second.waitingMessages("m.room.encrypted").count == 2)
    }

    @Test func aBlockedDeviceIsToldNothing() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.turn { try $0.signDevice("A2", &$1) }
        try alice.turn { try $0.setTrust(.blocked, of: second.address, &$1) }
        alice.inject("m.room_key_request", from: "@alice:s", keyRequest(event.sessionId, from: "A2"))
        try alice.sync()
        #expect(server.messages(to: second.address).isEmpty)
    }

    @Test func anotherUsersDeviceIsGivenAgainWhatItWasGiven_andNothingElse() throws {
        _ = try alice.send("before Carol", to: room)
        let carol = try TestDevice("@carol:s", "C", on: server)
        let (eve, all) = (
            try TestDevice("@eve:s", "E", on: server), RoomToEncrypt.room("@alice:s", "@bob:s", "@carol:s")
        )
        let event = try alice.send("for Carol, too", to: all)
        let others = try alice.makeSessions(1)[0]
        try carol.sync()
        for (user, device) in [("@carol:s", "C"), ("@eve:s", "E"), ("@carol:s", "C9"), ("@eve:s", "C")] {
            for (id, session) in [("1", event.sessionId), ("2", others.sessionID), ("3", "unknown")] {
                alice.inject("m.room_key_request", from: user, keyRequest(session, from: device, id: id))
            }
            alice.inject(
                "m.room_key_request", from: user, keyRequest(event.sessionId, from: device, id: "4", roomId: "!x:s"))
        }
        func answers() -> Int { server.requests.count { if case .sendToDevice = $0.call { true } else { false } } }
        let before = answers()
        try alice.sync()
        #expect(server.messages(to: eve.address).isEmpty)
        #expect(answers() == before + 1)
        let message = try #require(carol.waitingMessages("m.room.encrypted").first?["content"])
        let forward = try opened(message, by: carol)
        #expect(forward["type"]?.string == "m.forwarded_room_key")
        let key = try UnpaddedBase64.decodeSecret(forward.value("content").text("session_key"))
        #expect(try InboundGroupSession(exported: key).firstIndex == 1)
        try carol.sync()
        #expect(carol.dropped == [.untrusted])  // only accepts keys from its own devices
    }

    @Test func questionsOfStrangersAreNotKept_andAnotherKeyThanThenGetsNothing() throws {
        let event = try alice.send("x", to: room)
        let ask = { (user: String, device: String) in
            object { writer in
                writer.add("type", "m.room_key_request")
                writer.add("sender", user)
                writer.add("content", keyRequest(event.sessionId, from: device))
            }
        }
        try alice.turn { machine, turn in
            for (user, device) in [("@eve:s", "B"), ("@eve:s", "E"), ("@bob:s", "B2")] {
                try machine.receive(ask(user, device), &turn)
            }
            #expect(try turn.records.values(QuestionRecord.self).isEmpty)
            try machine.receive(ask("@bob:s", "B"), &turn)
            #expect(try turn.records.values(QuestionRecord.self).count == 1)
            let key = "@bob:s\nB"
            let share = try #require(try turn.records.value(ShareRecord.self, scope: event.sessionId, key: key))
            let other = ShareRecord(
                .given, index: share.index, curve25519: Curve25519KeyPair(random: .system).publicKey, wedgingIndex: 0,
                time: share.time)
            turn.records.set(other, scope: event.sessionId, key: key)
            #expect(try machine.requests(&turn).isEmpty)
            #expect(try turn.records.values(QuestionRecord.self).isEmpty)
        }
    }

    /// The decrypted content of a message that is pending at the server.
    private func opened(_ content: JSONView, by device: TestDevice) throws -> JSONView {
        let key = try Curve25519PublicKey(base64: content.text("sender_key"))
        let box = try #require(content["ciphertext"]?[device.machine.account.curve25519.publicKey.base64])
        let message = try OlmMessage(type: box["type"]?.int ?? 0, body: box.text("body"))
        let channels = try device.turn { try $0.channels(with: key, &$1) }
        for var channel in channels {
            if let plaintext = try? channel.session.decrypt(message) {
                return try #require(JSONView(plaintext.withUnsafeBytes { Array($0) }))
            }
        }
        return .nothing
    }

    @Test func whatIsCancelledIsNotAnswered() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.verify(second)
        try second.sync()
        for action in ["request", "request_cancellation"] {
            alice.inject(
                "m.room_key_request", from: "@alice:s", keyRequest(event.sessionId, from: "A2", action: action))
        }
        try alice.sync()
        #expect(second.waitingMessages("m.room.encrypted").count == 0)
    }

    @Test func anHourHasAHundredAnswers() throws {
        let second = try alice.second()
        try alice.verify(second)
        let sessions = try alice.makeSessions(120)
        for (number, session) in sessions.enumerated() {
            alice.inject(
                "m.room_key_request", from: "@alice:s", keyRequest(session.sessionID, from: "A2", id: "\(number)"))
        }
        try second.sync()
        alice.now += 3_600_000  // secrets count as answers, too
        try alice.sync()
        #expect(second.waitingMessages("m.room.encrypted").count == 100)
        try alice.restart()
        try alice.sync()
        #expect(second.waitingMessages("m.room.encrypted").count == 100)
        alice.now += 3_600_000
        try alice.sync()
        #expect(second.waitingMessages("m.room.encrypted").count == 120)
    }

    @Test func requestsOfDevicesThatTheServerMakesUpDoNotCrowdOutOthers() throws {
        let event = try bob.send("x", to: room)
        try alice.sync()
        let second = try alice.second()
        try alice.verify(second)
        try second.sync()
        for number in 0..<1_300 {
            alice.inject(
                "m.room_key_request", from: "@alice:s",
                keyRequest(event.sessionId, from: "X\(number / 10)", id: "\(number)"))
        }
        alice.inject("m.room_key_request", from: "@alice:s", keyRequest(event.sessionId, from: "A2"))
        try alice.sync()
        #expect(try alice.turn { try $1.records.values(QuestionRecord.self).count } == 1_000)
        #expect(second.waitingMessages("m.room.encrypted").count == 1)
        // Requests expire after a day.
        alice.now += 86_400_000
        for id in ["new", "newer"] {
            alice.inject("m.room_key_request", from: "@alice:s", keyRequest(event.sessionId, from: "X", id: id))
            try alice.sync()
        }
        #expect(try alice.turn { try $1.records.values(QuestionRecord.self).map(\.value.requestId) } == ["newer"])
    }
}
