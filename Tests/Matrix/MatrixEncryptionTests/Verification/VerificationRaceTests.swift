import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Simultaneous actions of both sides, and late messages.
@Suite struct VerificationRaceTests {
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

    private func finish(_ one: TestDevice, _ other: TestDevice) throws {
        try scene.exchange(one, other)
        #expect(try one.isComparing && one.shown == other.shown)
        for device in [one, other] { try device.confirmSame() }
        try scene.exchange(one, other)
        #expect(try one.state == .done && other.state == .done)
    }

    /// The users to whom messages of a type were sent.
    private func receivers(of type: String) throws -> [String] {
        try server.requests.filter { $0.call.isMessage(type) }.flatMap {
            try #require(JSONView(Array($0.body.utf8)))["messages"]?.members.map(\.key) ?? []
        }
    }

    // MARK: Two starts

    @Test(arguments: [false, true]) func ofTwoStartsTheSmallerUsersCounts(isBobFirst: Bool) throws {
        try agree(alice, bob)
        for device in isBobFirst ? [bob, alice] : [alice, bob] { try device.startComparing() }
        #expect(server.types(to: alice.address) == ["start"] && server.types(to: bob.address) == ["start"])
        for device in isBobFirst ? [bob, alice] : [alice, bob] { try device.sync() }
        try finish(alice, bob)
        #expect(try receivers(of: "accept") == ["@alice:s"])  // her start
        #expect(try alice.isVerified("@bob:s") && bob.isVerified("@alice:s"))
    }

    @Test func ofTwoStartsOfOneUserTheSmallerDevicesCounts() throws {
        let second = try scene.join("@alice:s", "A2")
        try agree(second, alice)
        for device in [second, alice] { try device.startComparing() }
        try finish(alice, second)
        let sent = try #require(server.requests.last { $0.call.isMessage("accept") })
        #expect(JSONView(Array(sent.body.utf8))?["messages"]?["@alice:s"]?.members.map(\.key) == ["A"])
    }

    @Test func twoStartsWithDifferentMethodsCancel() throws {
        try agree(alice, bob)
        let code = try #require(try bob.code)
        try alice.scan(code)
        try bob.startComparing()
        try scene.exchange(alice, bob)
        #expect(try alice.state.ownCode == .unexpectedMessage || bob.state.ownCode == .unexpectedMessage)
        #expect(try !alice.isVerified("@bob:s") && !bob.isVerified("@alice:s"))
    }

    @Test func twoWhoScanEachOtherAtOnceAreVerified() throws {
        try agree(alice, bob)
        let codes = (try #require(try alice.code), try #require(try bob.code))
        try alice.scan(codes.1)
        try bob.scan(codes.0)
        try scene.exchange(alice, bob)
        #expect(try alice.state == .scanned && bob.state == .reciprocated)  // hers counts
        try bob.confirmScanned()
        try scene.exchange(alice, bob)
        #expect(try alice.state == .done && bob.state == .done)
        #expect(try alice.isVerified("@bob:s") && bob.isVerified("@alice:s"))
    }

    @Test func aSecondStartAfterTheAnswerCancels() throws {
        try agree(alice, bob)
        try bob.startComparing()
        let start = try #require(server.messages(to: alice.address).last?["content"])
        try alice.sync()
        server.inject("start", start, from: "@bob:s", to: alice.address)
        try alice.sync()
        #expect(try alice.state.ownCode == .unexpectedMessage)
    }

    // MARK: Two requests

    @Test func aSecondRequestOfTheSameDeviceCancelsBoth() throws {
        try scene.compare(alice, bob)
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        #expect(bob.machine.verifications.map(\.state.ownCode) == [.unexpectedMessage, .unexpectedMessage])
        #expect(server.cancelCodes(to: alice.address) == ["m.unexpected_message", "m.unexpected_message"])
        try alice.sync()
        #expect(alice.machine.verifications.map(\.state.peersCode) == [.unexpectedMessage, .unexpectedMessage])
        #expect(throws: EncryptionError.unexpected) { try alice.confirmSame() }
    }

    @Test func aRequestOfAnotherDeviceCancelsNothing() throws {
        let second = try scene.join("@alice:s", "A2")
        try second.know("@bob:s")
        try scene.compare(alice, bob)
        try second.requestVerification(of: "@bob:s")
        try bob.sync()
        #expect(bob.machine.verifications.allSatisfy { !$0.isFinished })
        #expect(bob.machine.verifications.map(\.device) == ["A", "A2"])
    }

    @Test func aRequestAfterAnotherHasEndedIsNew() throws {
        try scene.compare(alice, bob)
        for device in [alice, bob] { try device.confirmSame() }
        try alice.sync()  // Bob's side still waits for "done"
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        #expect(try bob.state == .requested)
    }

    @Test func requestsThatCrossGoBothOn() throws {
        let first = try alice.requestVerification(of: "@bob:s")
        let second = try bob.requestVerification(of: "@alice:s")
        for device in [alice, bob] { try device.sync() }
        #expect(alice.machine.verifications.count == 2 && bob.machine.verifications.count == 2)
        try bob.turn { machine, turn in
            let id = Verification.ID(user: "@alice:s", transaction: first.transaction)
            try machine.acceptVerification(id, &turn)
        }
        try bob.pump()
        try alice.sync()
        #expect(alice.machine.verification(first)?.state.isReady == true)
        #expect(bob.machine.verification(second)?.state == .requested)
    }

    @Test func aRequestThatComesTwiceIsOne() throws {
        try alice.requestVerification(of: "@bob:s")
        let request = try #require(server.messages(to: bob.address).last)
        server.inject(request, to: bob.address)
        try bob.sync()
        try bob.acceptVerification()
        server.inject(request, to: bob.address)
        try bob.sync()
        #expect(try bob.machine.verifications.count == 1 && bob.state.isReady)
        #expect(server.types(to: alice.address) == ["ready"])
    }

    // MARK: After the end

    @Test func cancelsCrossWithoutAnAnswer() throws {
        try scene.compare(alice, bob)
        try alice.cancelVerification()
        try bob.cancelVerification(.mismatchedSAS)
        for device in [alice, bob, alice, bob] { try device.sync() }
        #expect(try alice.state.ownCode == .user && bob.state.ownCode == .mismatchedSAS)
        let cancels = server.requests.count { $0.call.isMessage("cancel") }
        #expect(cancels == 2)
        try alice.cancelVerification()  // nor twice
        #expect(server.requests.count { $0.call.isMessage("cancel") } == cancels)
    }

    @Test func aCancelAfterOurCheckTakesNothingBack() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        try alice.sync()
        try alice.confirmSame()
        #expect(try alice.state == .verified)
        try bob.cancelVerification()
        try alice.sync()
        #expect(try alice.state == .verified && alice.isVerified("@bob:s"))
    }

    @Test func doneBeforeOurUsersAnswerWaits() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        let id = try bob.verification.id.transaction
        server.inject("done", object { $0.add("transaction_id", id) }, from: "@bob:s", to: alice.address)
        try alice.sync()
        #expect(try alice.isComparing)
        try alice.confirmSame()
        #expect(try alice.state == .done && alice.isVerified("@bob:s"))
    }

    /// Requests run concurrently, but the order matters.
    @Test func messagesOfAVerificationGoOneAfterTheOther() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        try alice.sync()
        try alice.turn { machine, turn in
            try machine.confirmSame(try #require(machine.verifications.last).id, &turn)
        }
        let requests = try alice.turn { try $0.requests(&$1) }.filter {
            if case .sendToDevice = $0.call { true } else { false }
        }
        #expect(requests.count == 1 && requests[0].call.isMessage("mac"))
        #expect(try alice.turn { try $0.requests(&$1) }.isEmpty)
        try alice.turn { try $0.failed(requests[0].id, isFinal: false, &$1) }
        alice.now += 15_000
        let again = try alice.turn { try $0.requests(&$1) }
        #expect(again.map(\.call) == requests.map(\.call))
        try alice.turn { try $0.answered(again[0].id, .nothing, &$1) }
        #expect(try alice.turn { try $0.requests(&$1) }.map { $0.call.isMessage("done") } == [true])
    }
}

extension CryptoRequest.Call {
    /// Whether the request sends a verification message of this type.
    func isMessage(_ type: String) -> Bool {
        if case .sendToDevice(let sent, _) = self { sent == "m.key.verification." + type } else { false }
    }
}
