import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Verifications by messages to devices, without faults.
@Suite struct VerificationFlowTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    @Test func twoUsersVerifyEachOther() throws {
        try alice.requestVerification(of: "@bob:s")
        #expect(try alice.state == .requested && alice.verification.device == nil)
        try bob.sync()
        #expect(try bob.verification.direction == .incoming && bob.verification.device == "A")
        #expect(try bob.takeNotices().contains(.verificationChanged(bob.verification.id)))
        try bob.acceptVerification()
        try alice.sync()
        #expect(try alice.verification.device == "B" && alice.state.isReady && bob.state.isReady)
        try bob.startComparing()
        try scene.exchange(alice, bob)
        #expect(try alice.shown.count == 10 && alice.shown == bob.shown)
        #expect(try !alice.isVerified("@bob:s"))
        try alice.confirmSame()
        #expect(try !alice.isVerified("@bob:s"))  // the other side's codes are missing
        try bob.sync()
        #expect(try !bob.isVerified("@alice:s"))  // our user has not confirmed
        try bob.confirmSame()
        #expect(try bob.state == .verified && bob.isVerified("@alice:s"))
        try alice.sync()
        #expect(try alice.state == .done && alice.isVerified("@bob:s"))
        try bob.sync()
        #expect(try bob.state == .done)
        #expect(try alice.trust(bob).isVerified && bob.trust(alice).isVerified)
        #expect(try alice.verification.proof == .init(device: true, master: true))
        #expect(alice.takeNotices().contains(.trustChanged(user: "@bob:s")))
        // The server has the signatures, so other devices that trust Alice's keys know it, too.
        #expect(server.signatures["@alice:s"]?["@bob:s"] != nil && server.signatures["@bob:s"]?["@alice:s"] != nil)
    }

    @Test func aNewDeviceIsVerifiedByAnother_andTrustsItsUser() throws {
        let second = try scene.join("@alice:s", "A2")
        #expect(try second.ownIdentity == .untrusted)
        try scene.compare(second, alice)
        #expect(try second.isComparing && second.shown == alice.shown)
        try alice.confirmSame()
        try second.confirmSame()
        try scene.exchange(alice, second)
        #expect(try alice.state == .done && second.state == .done)
        #expect(try second.ownIdentity == .complete)
        #expect(try alice.trust(second) == DeviceTrust(isCrossSigned: true, isVerified: true))
        try bob.sync()
        #expect(try bob.trust(second).isCrossSigned)
    }

    /// The new device does not sign a master key that it does not trust itself.
    @Test func aDeviceVouchesForNoKeyThatItDoesNotTrust() throws {
        let (second, third) = (try scene.join("@alice:s", "A2"), try scene.join("@alice:s", "A3"))
        try second.sync()
        try scene.compare(second, third)
        try third.confirmSame()
        let mac = server.messages(to: second.address).last?["content"]?["mac"]
        #expect(mac?.members.map(\.key) == ["ed25519:A3"])
        try second.confirmSame()
        try scene.exchange(second, third)
        #expect(try second.state == .done && second.trust(third).isVerified)
        #expect(try second.ownIdentity == .untrusted)
    }

    @Test func aUserWithAnotherIdentityIsVerifiedAnew() throws {
        try scene.compare(alice, bob)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        try bob.makeIdentity(isReset: true)
        try alice.sync()
        #expect(try !alice.isVerified("@bob:s") && alice.identity(of: "@bob:s").hasChanged)
        try scene.compare(alice, bob)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try alice.isVerified("@bob:s") && !alice.identity(of: "@bob:s").hasChanged)
    }

    @Test func codesThatComeBeforeOurUsersAnswerAreKept() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        try alice.sync()  // the codes
        #expect(try alice.isComparing)
        try alice.confirmSame()
        #expect(try alice.state == .verified && alice.isVerified("@bob:s"))
    }

    @Test func whatIsNotTheSameVerifiesNothing() throws {
        try scene.compare(alice, bob)
        try alice.confirmSame()
        try bob.cancelVerification(.mismatchedSAS)
        try scene.exchange(alice, bob)
        #expect(try alice.state.peersCode == .mismatchedSAS && bob.state.ownCode == .mismatchedSAS)
        #expect(try !alice.isVerified("@bob:s") && !bob.isVerified("@alice:s"))
        #expect(throws: EncryptionError.unexpected) { try alice.confirmSame() }
    }

    @Test func withoutItsUserSigningKeyADeviceTrustsTheDevice() throws {
        try alice.turn { $1.records.remove(.secret, key: SecretName.userSigning.rawValue) }
        try scene.compare(alice, bob)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try alice.state == .done && alice.trust(bob).isVerified && !alice.isVerified("@bob:s"))
    }

    @Test func aBlockedDeviceStaysBlocked() throws {
        try alice.turn { try $0.setTrust(.blocked, of: bob.address, &$1) }
        try scene.compare(alice, bob)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try alice.isVerified("@bob:s") && alice.trust(bob).isBlocked)
    }

    // MARK: Several devices

    @Test func theDeviceThatAnswersFirstTakesPart_theOthersAreTold() throws {
        let second = try scene.join("@bob:s", "B2")
        try alice.requestVerification(of: "@bob:s")
        for device in [bob, second] { try device.sync() }
        try second.acceptVerification()
        try bob.acceptVerification()  // before it is notified
        try alice.sync()
        #expect(try alice.verification.device == "B2")
        #expect(server.cancelCodes(to: bob.address) == ["m.accepted"])
        #expect(server.cancelCodes(to: second.address).isEmpty)
        try bob.sync()
        #expect(try bob.state.peersCode == .accepted)
        try alice.startComparing()
        try scene.exchange(alice, second, bob)
        #expect(try alice.isComparing && alice.shown == second.shown)
    }

    @Test func aRequestThatOneDeviceDeclinedIsOver() throws {
        let second = try scene.join("@bob:s", "B2")
        try alice.requestVerification(of: "@bob:s")
        for device in [bob, second] { try device.sync() }
        #expect(try second.state == .requested)  // after its query for Alice's devices
        try bob.cancelVerification()
        try alice.sync()
        #expect(try alice.state.peersCode == .user)
        #expect(server.types(to: bob.address).isEmpty && server.types(to: second.address).isEmpty)  // no answers
        try second.acceptVerification()
        try alice.sync()
        #expect(server.cancelCodes(to: second.address) == ["m.user"])
        try second.sync()
        #expect(try second.state.peersCode == .user)
    }

    @Test func aRequestIsTakenBackEverywhere() throws {
        let second = try scene.join("@bob:s", "B2")
        try second.know("@alice:s")
        try alice.requestVerification(of: "@bob:s")
        try alice.cancelVerification()
        for device in [bob, second] {
            try device.sync()
            #expect(try device.state.peersCode == .user)
        }
    }

    @Test func devicesThatMustBeAskedForFirstAreNotAskedToVerify() throws {
        #expect(throws: EncryptionError.notKnown) { try alice.requestVerification(of: "@carol:s") }
        try alice.know("@carol:s")
        #expect(throws: EncryptionError.unknownDevice) { try alice.requestVerification(of: "@carol:s") }
        #expect(throws: EncryptionError.unknownDevice) { try alice.requestVerification(of: "@bob:s", device: "X") }
        #expect(throws: EncryptionError.unknownDevice) { try alice.requestVerification(of: "@alice:s") }
    }

    @Test func aRequestOfAStrangerWaitsForTheirKeys() throws {
        let carol = try TestDevice("@carol:s", "C", on: server)
        try carol.know("@bob:s")
        try carol.requestVerification(of: "@bob:s")
        try bob.sync()
        #expect(try bob.verification.id.user == "@carol:s" && bob.state == .requested)
        try bob.acceptVerification()
        try carol.sync()
        try carol.startComparing()
        try scene.exchange(carol, bob)
        #expect(try carol.isComparing && carol.shown == bob.shown)
    }

    // MARK: After a restart

    @Test func whatARestartHasForgottenIsCancelled_once() throws {
        try scene.compare(alice, bob)
        try bob.restart()
        try alice.confirmSame()
        try bob.sync()
        #expect(server.cancelCodes(to: alice.address) == ["m.unknown_transaction"])
        for _ in 0..<3 {
            server.inject(
                "done", object { $0.add("transaction_id", (try? alice.verification.id.transaction) ?? "") },
                from: "@alice:s", to: bob.address)
            try bob.sync()
        }
        #expect(server.cancelCodes(to: alice.address) == ["m.unknown_transaction"])
        try alice.sync()
        #expect(try alice.state.peersCode == .unknownTransaction)
        try bob.sync()
        #expect(server.types(to: alice.address).isEmpty && server.types(to: bob.address).isEmpty)
    }

    @Test(arguments: ["start", "cancel"]) func unknownStartsAndCancelsAreNotAnswered(type: String) throws {
        let content = object { writer in
            writer.add("transaction_id", "x")
            writer.add("from_device", "A")
            writer.add("method", "m.reciprocate.v1")
            writer.add("secret", "AAAAAAAAAAAAAAA")
            writer.add("code", "m.user")
        }
        server.inject(type, content, from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(server.types(to: alice.address).isEmpty && bob.machine.verifications.isEmpty)
        server.inject("key", content, from: "@alice:s", to: bob.address)  // this device does
        try bob.sync()
        #expect(server.cancelCodes(to: alice.address) == ["m.unknown_transaction"])
    }
}
