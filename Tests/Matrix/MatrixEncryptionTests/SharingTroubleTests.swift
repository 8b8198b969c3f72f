import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Key delivery when networks fail and when servers omit things.
@Suite struct SharingTroubleTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
    }

    private func isReady(hasWaited: Bool) throws -> Bool {
        try alice.turn { try $0.prepare(room, hasWaited: hasWaited, &$1) } == .ready
    }

    /// Sends all requests except claims, which fail.
    private func pumpWithoutClaims() throws {
        for request in try alice.turn({ try $0.requests(&$1) }) {
            if case .claimKeys = request.call {
                try alice.turn { try $0.failed(request.id, isFinal: false, &$1) }
            } else {
                let answer = try server.answer(request, from: alice.address)
                try alice.turn { try $0.answered(request.id, answer, &$1) }
            }
        }
    }

    @Test func aClaimThatFailsOnItsWayIsMadeAgainForTheNextMessage() throws {
        #expect(try !isReady(hasWaited: false))
        try pumpWithoutClaims()
        #expect(try !isReady(hasWaited: false))
        try pumpWithoutClaims()
        #expect(try isReady(hasWaited: true))  // the maximum wait is over
        alice.now += 20_000
        let event = try alice.send("the network is back", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "the network is back")
    }

    /// Answers all requests except messages to devices, which fail with this code.
    private func pump(messagesFailWith code: String, isFinal: Bool, messages limit: Int = 0) throws {
        for request in try alice.turn({ try $0.requests(&$1) }) {
            let users = JSONView(Array(request.body.utf8))?["messages"]?.members ?? []
            let count = users.reduce(0) { $0 + $1.value.members.count }
            if case .sendToDevice = request.call, count > limit {
                try alice.turn { try $0.failed(request.id, isFinal: isFinal, code: code, &$1) }
            } else {
                let answer = try server.answer(request, from: alice.address)
                try alice.turn { try $0.answered(request.id, answer, &$1) }
            }
        }
    }

    /// After a long wait, a message is sent without devices that provide no keys, but never while keys are being sent.
    @Test func aMessageAndAllAfterItWaitUntilTheirKeysAreOut() throws {
        for _ in 0..<2 {
            #expect(try !isReady(hasWaited: false))
            try pump(messagesFailWith: "", isFinal: false)
        }
        #expect(try !isReady(hasWaited: false))
        try pump(messagesFailWith: "M_LIMIT_EXCEEDED", isFinal: false)
        for hasWaited in [true, true, false] { #expect(try !isReady(hasWaited: hasWaited)) }
        try alice.restart()
        #expect(try !isReady(hasWaited: true))
        try alice.pump()
        #expect(try isReady(hasWaited: true))
        let event = try alice.send("late, and readable", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "late, and readable")
        let messages = server.requests.count { if case .sendToDevice = $0.call { true } else { false } }
        #expect(messages == 1)  // a retry of the same message
    }

    /// An unanswered claim does not delay devices that can be reached.
    @Test func whoCanBeReachedIsGivenTheKeyWhileAClaimIsNotAnswered() throws {
        _ = try alice.send("first", to: room)
        let carol = try TestDevice("@carol:s", "C", on: server)
        try carol.encryptRoom("!r:s")
        let all = RoomToEncrypt.room("@alice:s", "@bob:s", "@carol:s")
        try alice.turn { try $0.discardSession(of: "!r:s", &$1) }
        #expect(try alice.turn { try $0.prepare(all, hasWaited: false, &$1) } == .waiting)
        try pumpWithoutClaims()
        #expect(try alice.turn { try $0.prepare(all, hasWaited: false, &$1) } == .waiting)
        try pumpWithoutClaims()
        #expect(try alice.turn { try $0.prepare(all, hasWaited: true, &$1) } == .waiting)  // Bob's key is being sent
        try pumpWithoutClaims()
        #expect(try alice.turn { try $0.prepare(all, hasWaited: true, &$1) } == .ready)
    }

    /// Servers differ in the largest request that they accept.
    @Test(arguments: [0, 1, 3]) func messagesThatAreTooManyForTheServerAreSentInHalves(limit: Int) throws {
        let others = try (0..<9).map { try TestDevice("@bob:s", "B\($0)", on: server) }
        for device in others { try device.encryptRoom("!r:s") }
        try alice.sync()
        for _ in 0..<20 {
            guard (try? isReady(hasWaited: false)) == false else { break }
            try pump(messagesFailWith: "M_TOO_LARGE", isFinal: true, messages: limit)
        }
        guard limit > 0 else {
            // Not even a single message is accepted.
            #expect(throws: SharingError.notTaken(users: ["@bob:s"])) { try isReady(hasWaited: true) }
            return
        }
        #expect(try isReady(hasWaited: false))
        let event = try alice.send("in parts", to: room)
        for device in [bob] + others {
            try device.sync()
            #expect(try device.text(event) == "in parts")
        }
    }

    /// Answers all requests except messages to devices, which the server refuses.
    private func pumpRefusingMessages() throws { try pump(messagesFailWith: "M_FORBIDDEN", isFinal: true) }

    /// No recipient could read it.
    @Test func aMessageWhoseKeyTheServerRefusesIsNotSent_andTheKeyIsGivenBeforeTheNext() throws {
        for _ in 0..<3 {
            #expect(try !isReady(hasWaited: false))
            try pumpRefusingMessages()
        }
        for hasWaited in [false, true] {
            #expect(throws: SharingError.self) { try isReady(hasWaited: hasWaited) }
        }
        #expect(try alice.turn { try $0.requests(&$1) }.isEmpty)  // not immediately
        alice.now += 10_001
        let event = try alice.send("tried again", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "tried again")
    }

    /// The server may have delivered a message that it claims to have refused.
    @Test(.rule("R16")) func whoseKeyWasRefusedCountsAsOneWhoHasIt() throws {
        for _ in 0..<3 {
            _ = try isReady(hasWaited: false)
            try pumpRefusingMessages()
        }
        let session = { try self.alice.turn { try $1.records.value(OutboundSessionRecord.self, key: "!r:s") } }
        let before = try #require(try session()).session.id
        alice.now += 10_001
        // Bob is no longer in the room.
        _ = try alice.send("without Bob", to: .room("@alice:s"))
        #expect(try session()?.session.id != before)
    }

    @Test func whoCouldNotBeReachedIsTriedAgainAfterAnHour() throws {
        server.loseKeys(of: bob.address)
        let lost = try alice.send("lost", to: room)
        try bob.sync()  // uploads new keys
        #expect(try bob.failure(lost) == .unknownSession)
        let claims = server.requests.count { if case .claimKeys = $0.call { true } else { false } }
        _ = try alice.send("too early", to: room)
        #expect(server.requests.count { if case .claimKeys = $0.call { true } else { false } } == claims)
        alice.now += 3_600_001
        let event = try alice.send("an hour later", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "an hour later")
    }

    /// Without the user's self-signing key, the owner of a new device cannot be verified.
    @Test(.rule("R32")) func aServerThatHidesAKeyOfAnIdentityGetsNoDeviceIn() throws {
        try bob.makeIdentity()
        _ = try alice.send("x", to: room)
        let intruder = try TestDevice("@bob:s", "EVE", on: server)
        try intruder.encryptRoom("!r:s")
        server.identities["@bob:s"]?["self_signing_keys"] = nil
        try alice.sync()
        let event = try alice.send("not for Eve", to: room)
        try intruder.sync()
        #expect(try intruder.failure(event) == .withheld(code: "m.unverified"))
        try bob.sync()
        #expect(try bob.text(event) == "not for Eve")
    }

    /// The user was never verified: their new devices can read, and the change is reported.
    @Test func whoWasNeverVerifiedReadsOnWithANewIdentity() throws {
        try bob.makeIdentity()
        _ = try alice.send("x", to: room)
        try bob.makeIdentity(isReset: true)
        try alice.sync()
        #expect(alice.takeNotices().contains(.identityChanged(user: "@bob:s")))
        let event = try alice.send("still for Bob", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "still for Bob")
    }
}
