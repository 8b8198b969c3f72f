import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Verifications in which one side scans the other's code.
@Suite struct VerificationByCodeTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    private func agree(_ one: TestDevice, _ other: TestDevice) throws {
        try one.requestVerification(of: other.address.user)
        try other.sync()
        try other.acceptVerification()
        try one.sync()
    }

    /// Lets one side show its code and the other scan it.
    private func verify(_ shower: TestDevice, _ scanner: TestDevice) throws {
        try scanner.scan(try #require(try shower.code))
        #expect(try scanner.state == .scanned)
        try shower.sync()
        #expect(try shower.state == .reciprocated)
        try shower.confirmScanned()
        #expect(try shower.state == .verified)
        try scanner.sync()
        #expect(try scanner.state == .done)
        try shower.sync()
        #expect(try shower.state == .done)
    }

    private func mode(of code: [UInt8]?) throws -> VerificationQRCode.Mode {
        try VerificationQRCode(try #require(code)).mode
    }

    @Test(arguments: [true, false]) func twoUsersVerifyEachOther(doesRequesterShow: Bool) throws {
        try agree(alice, bob)
        #expect(try mode(of: alice.code) == .otherUser && mode(of: bob.code) == .otherUser)
        let (shower, scanner) = doesRequesterShow ? (alice, bob) : (bob, alice)
        try verify(shower, scanner)
        #expect(try alice.isVerified("@bob:s") && bob.isVerified("@alice:s"))
        // The codes contained no device key.
        #expect(try alice.verification.proof == .init(master: true) && bob.verification.proof == .init(master: true))
    }

    @Test(arguments: [true, false]) func aNewDeviceIsVerified(doesNewOneShow: Bool) throws {
        let second = try scene.join("@alice:s", "A2")
        try agree(second, alice)
        #expect(try mode(of: alice.code) == .trustingDevice && mode(of: second.code) == .untrustingDevice)
        let (shower, scanner) = doesNewOneShow ? (second, alice) : (alice, second)
        try verify(shower, scanner)
        try alice.sync()  // the device that is asked for the private keys
        try second.sync()
        #expect(try second.ownIdentity == .complete && second.verification.proof == .init(master: true))
        #expect(try alice.verification.proof == .init(device: true))
        #expect(try alice.trust(second) == DeviceTrust(isCrossSigned: true, isVerified: true))
        #expect(try second.trust(alice).isVerified)
    }

    @Test func beforeTheShowersUserAgreesNothingIsVerified() throws {
        try agree(alice, bob)
        try bob.scan(try #require(try alice.code))
        try alice.sync()
        #expect(try !alice.isVerified("@bob:s") && !bob.isVerified("@alice:s"))
        try alice.cancelVerification()
        try bob.sync()
        #expect(try bob.state.peersCode == .user)
        #expect(try !alice.isVerified("@bob:s") && !bob.isVerified("@alice:s"))
    }

    @Test func aWrongSecretCancels() throws {
        try agree(alice, bob)
        try bob.scan(try #require(try alice.code))
        let start = try #require(server.messages(to: alice.address).last?["content"])
        let secret = try #require(start["secret"]?.string)
        for wrong in [UnpaddedBase64.encode([UInt8](repeating: 0, count: 16)), "", "?", String(secret.dropLast(2))] {
            #expect(
                try alice.stateAfter("start", start.with(["secret": "\"\(wrong)\""]), from: "@bob:s").ownCode
                    == .keyMismatch)
        }
        #expect(
            try alice.stateAfter("start", start.with(["secret": nil]), from: "@bob:s").ownCode == .invalidMessage)
        try alice.sync()
        #expect(try alice.state == .reciprocated)
    }

    @Test func aSecretForACodeThatIsNotShownCancels() throws {
        alice.turnOff(.showCode)
        try agree(alice, bob)
        #expect(try alice.code == nil)
        let start = object { content in
            content.add("transaction_id", (try? alice.verification.id.transaction) ?? "")
            content.add("from_device", "B")
            content.add("method", "m.reciprocate.v1")
            content.add("secret", "AAAAAAAAAAAAAAAAAAAAAA")
        }
        #expect(try alice.stateAfter("start", start, from: "@bob:s").ownCode == .unexpectedMessage)
    }

    /// The code reveals keys that a server has swapped, whatever its messages say.
    @Test func otherKeysInACodeCancel() throws {
        try agree(alice, bob)
        let code = try VerificationQRCode(try #require(try alice.code))
        let other = Ed25519KeyPair(random: .system).publicKey
        for (first, second) in [(other, code.secondKey), (code.firstKey, other), (code.secondKey, code.firstKey)] {
            let changed = try VerificationQRCode(
                mode: code.mode, id: code.id, firstKey: first, secondKey: second, secret: code.secret)
            var (machine, turn) = (bob.machine, CryptoTurn(Records(bob.records), now: bob.now, random: .system))
            let id = try bob.verification.id
            try machine.scanned(changed.bytes, id, &turn)
            #expect(machine.verification(id)?.state.ownCode == .keyMismatch)
        }
        try bob.scan(code.bytes)
        #expect(try bob.state == .scanned)
    }

    @Test func whatIsNoCodeOfThisVerificationMayBeScannedAgain() throws {
        try agree(alice, bob)
        let code = try VerificationQRCode(try #require(try alice.code))
        for (mode, id) in [(VerificationQRCode.Mode.otherUser, "x"), (.trustingDevice, code.id)] {
            let other = try VerificationQRCode(
                mode: mode, id: id, firstKey: code.firstKey, secondKey: code.secondKey, secret: code.secret)
            #expect(throws: EncryptionError.self) { try bob.scan(other.bytes) }
        }
        #expect(throws: EncryptionError.header) { try bob.scan(Array("https://example.org".utf8)) }
        #expect(try bob.state.isReady)
        try verify(alice, bob)
    }

    @Test func ourOwnCodeIsNotTheOthers() throws {
        try agree(alice, bob)
        try bob.scan(try #require(try bob.code))
        #expect(try bob.state.ownCode == .keyMismatch)
    }

    @Test func withoutTrustInItsOwnKeysADeviceShowsAndScansNothingForOthers() throws {
        let second = try scene.join("@alice:s", "A2")
        try second.know("@bob:s")
        try agree(second, bob)
        #expect(try second.code == nil && bob.code != nil)
        let code = try #require(try bob.code)
        #expect(throws: EncryptionError.untrusted) { try second.scan(code) }
        #expect(try second.state.isReady)
    }

    @Test func methodsGoTogether() throws {
        alice.turnOff(.scanCode)
        try agree(alice, bob)
        #expect(try bob.code == nil && alice.code != nil)
        guard case .ready(let canCompare, let canScan, _) = try bob.state else { throw EncryptionError.unexpected }
        #expect(canCompare && canScan)
        guard case .ready(_, let canScan, _) = try alice.state else { throw EncryptionError.unexpected }
        #expect(!canScan)
        let code = try #require(try alice.code)
        #expect(throws: EncryptionError.unexpected) { try alice.scan(code) }
    }

    @Test func whoHasNoMethodInCommonIsNotAsked() throws {
        for method in VerificationMethod.allCases where method != .sas { alice.turnOff(method) }
        bob.turnOff(.sas)
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        #expect(bob.machine.verifications.isEmpty && server.types(to: alice.address).isEmpty)
    }
}

extension TestDevice {
    func turnOff(_ method: VerificationMethod) {
        _ = try? turn { machine, _ in machine.verificationMethods.remove(method) }
    }
}
