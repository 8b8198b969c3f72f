import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Who is given keys when networks fail, and when servers leave things out.
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

    /// Sends all but claims, which fail on their way.
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
        #expect(try isReady(hasWaited: true))  // nobody waits longer than that
        alice.now += 20_000
        let event = try alice.send("the network is back", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "the network is back")
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

    /// Without its owner's self-signing key nobody could tell whose a new device is.
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

    /// Nobody has verified the user: their new devices read on, and the change is told.
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
