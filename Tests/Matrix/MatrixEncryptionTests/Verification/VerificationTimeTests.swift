import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Time limits of verifications.
@Suite struct VerificationTimeTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)
    private static let minute: UInt64 = 60_000

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    @Test(
        arguments: [
            (600_000, true), (600_001, false), (0, true), (-300_000, true), (-300_001, false), (.min, false),
        ] as [(Int, Bool)])
    func requestsCountIfTheyAreNeitherOldNorOfTheFuture(age: Int, counts: Bool) throws {
        let time = age == .min ? -1 : Int(bob.now + 1) - age
        server.inject("request", request(at: "\(time)"), from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(bob.machine.verifications.isEmpty != counts)
    }

    @Test(arguments: ["null", "\"x\"", "1e99", "18446744073709551616", "{}"])
    func requestsWithoutATimeDoNotCount(time: String) throws {
        server.inject("request", request(at: time), from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(bob.machine.verifications.isEmpty)
    }

    private func request(at time: String) -> JSONView {
        object { content in
            content.add("transaction_id", "t")
            content.add("from_device", "A")
            content.add("methods", json: #"["m.sas.v1"]"#)
            content.add("timestamp", json: time)
        }
    }

    @Test func aRequestIsShownForTwoMinutes() throws {
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        #expect(bob.machine.nextDeadline == bob.now + 120_000)
        try bob.wait(119_999)
        #expect(try bob.state == .requested)
        try bob.wait(1)
        #expect(try bob.state.ownCode == .timeout)
        #expect(server.types(to: alice.address).isEmpty)  // another device may answer
        #expect(bob.machine.nextDeadline == nil)
        #expect(throws: EncryptionError.unexpected) { try bob.acceptVerification() }
    }

    @Test func aRequestIsShownForTenMinutesFromItsTime() throws {
        let sent = bob.now - 540_000
        server.inject("request", request(at: "\(sent)"), from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(bob.machine.nextDeadline == sent + 600_000)
    }

    @Test func aRequestThatNobodyAnswersIsTakenBack() throws {
        try alice.requestVerification(of: "@bob:s")
        try alice.wait(599_999)
        #expect(try alice.state == .requested)
        try alice.wait(1)
        #expect(try alice.state.ownCode == .timeout)
        #expect(server.types(to: bob.address) == ["request", "cancel"])
    }

    @Test func tenMinutesWithoutAMessageEndIt() throws {
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        try bob.acceptVerification()
        try bob.wait(599_999)
        #expect(try bob.state.isReady)
        try bob.wait(1)
        #expect(try bob.state.ownCode == .timeout)
        try alice.sync()
        #expect(try alice.state.peersCode == .timeout)
    }

    @Test func tenMinutesAfterTheStartItEnds() throws {
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        try bob.acceptVerification()
        try alice.sync()
        for device in [alice, bob] { device.now += 300_000 }
        try alice.startComparing()
        let start = alice.now
        try bob.sync()
        for device in [alice, bob] { device.now += 300_000 }
        try scene.exchange(alice, bob)
        #expect(try alice.isComparing)
        #expect(alice.machine.nextDeadline == start + 600_000)
        try alice.wait(300_000)
        #expect(try alice.state.ownCode == .timeout)
        // A message that arrives before the clock is checked changes nothing.
        bob.now += 300_000
        try bob.sync()
        #expect(try bob.state.ownCode == .timeout || bob.state.peersCode == .timeout)
    }

    @Test func whatIsVerifiedHereIsDoneWithoutTheOther() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        try alice.sync()
        try alice.confirmSame()
        try alice.wait(599_999)
        #expect(try alice.state == .verified)
        try alice.wait(1)
        #expect(try alice.state == .done && alice.isVerified("@bob:s"))
        #expect(!server.types(to: bob.address).contains("cancel"))
    }

    @Test func whatIsOverIsForgottenLater() throws {
        try alice.requestVerification(of: "@bob:s")
        try alice.cancelVerification()
        try alice.wait(20 * Self.minute - 1)
        #expect(alice.machine.verifications.count == 1)
        try alice.wait(1)
        #expect(alice.machine.verifications.isEmpty)
    }

    @Test func anOfferOfAStartEndsAfterTwoMinutes() throws {
        _ = try alice.turn { try $0.startComparing(with: bob.address, &$1) }
        try alice.pump()
        try bob.sync()
        #expect(try bob.state == .requested)
        try bob.wait(120_000)
        #expect(try bob.state.ownCode == .timeout)
        try alice.sync()
        #expect(try alice.state.peersCode == .timeout)
    }
}
