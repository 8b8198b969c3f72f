import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Users' cross-signing keys: creation, signatures and changes.
@Suite struct CrossSigningTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
    }

    private func second() throws -> TestDevice {
        let device = try TestDevice("@alice:s", "A2", on: server)
        try device.encryptRoom("!r:s")
        try alice.sync()
        return device
    }

    private func give(_ names: SecretName..., from: TestDevice, to: TestDevice) throws {
        for name in names {
            let secret = try #require(try from.secret(name))
            try to.turn { try $0.take(secret, as: name, &$1) }
        }
        try to.pump()
    }

    @Test func aNewIdentityIsTrusted_andSignsItsDevice() throws {
        #expect(try alice.ownIdentity == .missing)
        try alice.makeIdentity()
        #expect(try alice.ownIdentity == .complete)
        try bob.know("@alice:s")
        #expect(try bob.trust(alice) == DeviceTrust(isCrossSigned: true))
        // The device signs the master key, too.
        let master = try bob.identity(of: "@alice:s").master.json
        try SignedJSON.verify(
            master, with: alice.machine.account.ed25519.publicKey, user: "@alice:s", keyID: "ed25519:A")
        try alice.restart()
        #expect(try alice.ownIdentity == .complete)
        #expect(throws: EncryptionError.identityExists) {
            try alice.turn { try $0.makeIdentity(isReset: false, &$1) }
        }
    }

    @Test func beforeTheServerWasAskedNothingIsMade() throws {
        let server = KeyServer()
        let address = DeviceAddress("@carol:s", "C")
        var turn = CryptoTurn(Records(MemoryRecords()), now: 1, random: .system)
        var machine = try CryptoMachine(me: address, &turn)
        server.addDevice(address)
        #expect(try machine.ownIdentity(&turn) == .unknown)
        #expect(throws: EncryptionError.notKnown) { try machine.makeIdentity(isReset: true, &turn) }
    }

    @Test func anUploadWhoseAnswerWasLostCounts() throws {
        let body = try alice.turn { try $0.makeIdentity(isReset: false, &$1) }
        try alice.restart()
        #expect(try alice.turn { try $0.makeIdentity(isReset: false, &$1) } == body)
        server.uploadIdentity(body, of: "@alice:s")
        try alice.restart()
        try alice.sync()
        #expect(try alice.ownIdentity == .complete)
        #expect(!alice.takeNotices().contains(.identityChanged(user: "@alice:s")))
        try bob.know("@alice:s")
        #expect(try bob.trust(alice).isCrossSigned)
    }

    @Test func anotherDeviceTakesThePrivateKeys_ifTheyAreThePublishedOnes() throws {
        try alice.makeIdentity()
        let second = try second()
        #expect(try second.ownIdentity == .untrusted)
        for name in [SecretName.master, .selfSigning, .userSigning] {
            let wrong = SecretBytes([UInt8](repeating: 7, count: 32))
            #expect(throws: EncryptionError.wrongKey) { try second.turn { try $0.take(wrong, as: name, &$1) } }
        }
        try give(.selfSigning, from: alice, to: second)
        #expect(try second.ownIdentity == .untrusted)  // that key alone does not sign a master key
        try give(.master, from: alice, to: second)
        #expect(try second.ownIdentity == .trusted)
        try give(.userSigning, from: alice, to: second)
        #expect(try second.ownIdentity == .complete)
        try alice.sync()
        #expect(try alice.trust(second) == DeviceTrust(isCrossSigned: true, isVerified: true))
        #expect(try second.trust(alice).isVerified)
    }

    @Test func aDeviceIsSignedForAnother() throws {
        try alice.makeIdentity()
        let second = try second()
        try alice.turn { try $0.signDevice("A2", &$1) }
        #expect(try alice.trust(second).isVerified)
        try alice.pump()
        try bob.know("@alice:s")
        #expect(try bob.trust(second).isCrossSigned)
        #expect(throws: EncryptionError.noPrivateKey) { try second.turn { try $0.signDevice("A", &$1) } }
        #expect(throws: EncryptionError.unknownDevice) { try alice.turn { try $0.signDevice("X", &$1) } }
    }

    @Test func aVerifiedUserIsKnownAsSuchOnOtherDevices() throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        #expect(try !alice.isVerified("@bob:s"))
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        #expect(try alice.isVerified("@bob:s"))
        try alice.pump()
        #expect(try alice.trust(bob).isVerified)
        let second = try second()
        try second.know("@bob:s")
        #expect(try !second.isVerified("@bob:s"))  // its own identity is not verified
        try give(.master, from: alice, to: second)
        #expect(try second.isVerified("@bob:s"))
        #expect(try second.identity(of: "@bob:s").wasVerified)
        // Other users do not see the signature.
        try bob.know("@alice:s")
        #expect(try bob.identity(of: "@bob:s").master.json["signatures"]?["@alice:s"] == nil)
    }

    @Test func signaturesThatTheServerRefusesAreTold() throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        server.tamper = { request, answer in
            guard request.call == .uploadSignatures else { return answer }
            return object { $0.add("failures", object { $0.add("@bob:s", object { $0.add("key", "x") }) }) }
        }
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        server.identities["@bob:s"]?["master_keys"] = try bob.identity(of: "@bob:s").master.json
        let signatures = server.signatures
        try alice.pump()
        #expect(alice.takeNotices().contains(.signaturesRefused(users: ["@bob:s"])))
        #expect(server.signatures.count == signatures.count + 1)
        #expect(try alice.turn { try $0.requests(&$1) }.isEmpty)  // not retried forever
    }

    // MARK: Changes

    @Test func aVerifiedUserWithAnotherIdentityGetsNothing_untilThatIsAccepted() throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        _ = try alice.send("x", to: room)
        let old = try alice.identity(of: "@bob:s").pinned
        try bob.makeIdentity(isReset: true)
        alice.takeNotices()
        try alice.sync()
        #expect(alice.takeNotices().contains(.identityChanged(user: "@bob:s")))
        #expect(try alice.identity(of: "@bob:s").pinned == old)
        #expect(try !alice.isVerified("@bob:s"))
        #expect(throws: EncryptionError.untrusted) { try alice.turn { try $0.signUser("@bob:s", &$1) } }
        #expect(throws: SharingError.notAcknowledged(users: ["@bob:s"])) { try alice.send("y", to: room) }
        try alice.turn { try $0.acceptIdentity(of: "@bob:s", &$1) }
        let event = try alice.send("z", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "z")
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        #expect(try alice.isVerified("@bob:s"))
    }

    @Test func aVerificationIsWithdrawn_andMadeAgain() throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        try alice.pump()
        try alice.turn { try $0.withdrawVerification(of: "@bob:s", &$1) }
        #expect(try !alice.isVerified("@bob:s"))
        server.noteChange(of: "@bob:s")
        try alice.sync()  // with the old signature
        #expect(try !alice.isVerified("@bob:s"))
        #expect(try !alice.identity(of: "@bob:s").wasVerified)
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        #expect(try alice.isVerified("@bob:s"))
    }

    /// The device was verified with an identity that is no longer valid.
    @Test(arguments: [true, false]) func aVerifiedDeviceIsVerifiedNoLongerThanItsUser(isReset: Bool) throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        try alice.turn { try $0.setTrust(.verified, of: bob.address, &$1) }
        try alice.pump()
        if isReset {
            server.identities["@bob:s"] = nil
            let phone = try TestDevice("@bob:s", "PHONE", on: server)
            try phone.makeIdentity(isReset: true)
            try alice.sync()
            try alice.turn { try $0.acceptIdentity(of: "@bob:s", &$1) }
        } else {
            try alice.turn { try $0.withdrawVerification(of: "@bob:s", &$1) }
        }
        #expect(try !alice.trust(bob).isVerified)
    }

    /// The server restores an identity with our old signature after a newer one was verified.
    @Test func aWithdrawalIsNotForgottenForALaterIdentity() throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        try alice.pump()
        let (old, signature) = (server.identities["@bob:s"], server.signatures["@alice:s"])
        try alice.turn { try $0.withdrawVerification(of: "@bob:s", &$1) }
        try bob.makeIdentity(isReset: true)
        try alice.sync()
        try alice.turn { try $0.acceptIdentity(of: "@bob:s", &$1) }
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        try alice.pump()
        #expect(try alice.isVerified("@bob:s"))
        (server.identities["@bob:s"], server.signatures["@alice:s"]) = (old, signature)
        server.noteChange(of: "@bob:s")
        try alice.sync()
        #expect(try !alice.isVerified("@bob:s"))
    }

    @Test(.rule("R32")) func ownKeysThatTheServerReplacesAreAnAlarm_andNothingIsSigned() throws {
        for device in [alice, bob] { try device.makeIdentity() }
        try alice.know("@bob:s")
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        try alice.pump()
        // The server makes keys of its own, and a device that they sign.
        let server2 = KeyServer()
        let mallory = try TestDevice("@alice:s", "M", on: server2)
        try mallory.makeIdentity()
        server.identities["@alice:s"] = server2.identities["@alice:s"]
        server.devices[mallory.address] = server2.devices[mallory.address]
        server.devices[mallory.address]?.messages = []
        server.noteChange(of: "@alice:s")
        alice.takeNotices()
        let requests = server.requests.count
        try alice.sync()
        #expect(alice.takeNotices().contains(.identityChanged(user: "@alice:s")))
        #expect(try alice.ownIdentity == .untrusted)
        _ = try alice.send("secret", to: room)
        #expect(server.messages(to: mallory.address).map { $0["type"]?.string } == ["m.room_key.withheld"])
        #expect(try !alice.isVerified("@alice:s") && !alice.isVerified("@bob:s"))
        #expect(!server.requests[requests...].contains { $0.call == .uploadSignatures })
        for body: (inout CryptoMachine, inout CryptoTurn) throws -> Void in [
            { try $0.signDevice("A", &$1) }, { try $0.signUser("@bob:s", &$1) },
        ] {
            #expect(throws: EncryptionError.noPrivateKey) { try alice.turn(body) }
        }
        // Once accepted, they are known but not trusted.
        try alice.turn { try $0.acceptIdentity(of: "@alice:s", &$1) }
        #expect(try alice.ownIdentity == .untrusted)
        try alice.makeIdentity(isReset: true)
        #expect(try alice.ownIdentity == .complete)
    }

    @Test(.rule("R32")) func aDeviceThatItsOwnerHasNotSignedGetsNoKey_andIsTold() throws {
        try bob.makeIdentity()
        _ = try alice.send("x", to: room)
        let planted = try TestDevice("@bob:s", "P", on: server)
        try planted.encryptRoom("!r:s")
        alice.takeNotices()
        try alice.sync()
        let event = try alice.send("y", to: room)
        #expect(alice.takeNotices().contains(.devicesChanged(user: "@bob:s", new: ["P"])))
        try planted.sync()
        #expect(try planted.failure(event) == .withheld(code: "m.unverified"))
        try bob.sync()
        #expect(try bob.text(event) == "y")
    }
}
