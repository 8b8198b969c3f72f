import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Strangers who send messages without end.
@Suite struct VerificationBoundsTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    private func request(_ id: String, from device: String) -> JSONView {
        object { content in
            content.add("transaction_id", id)
            content.add("from_device", device)
            content.add("methods", json: #"["m.sas.v1"]"#)
            content.add("timestamp", json: "\(bob.now)")
        }
    }

    @Test func aUserBeginsTenInTwentyMinutes_whateverHasBecomeOfThem() throws {
        for number in 0..<20 { _ = try TestDevice("@alice:s", "A\(number)", on: server) }
        try bob.sync()
        for number in 0..<20 {
            server.inject("request", request("\(number)", from: "A\(number)"), from: "@alice:s", to: bob.address)
        }
        try bob.sync()
        #expect(bob.machine.verifications.count == 10)
        let first = try #require(bob.machine.verifications.first).id
        try bob.cancelVerification()
        server.inject("request", request("x", from: "A"), from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(bob.machine.verifications.count == 10 && bob.machine.verification(first) != nil)
        // Our own user gets a slot as soon as another verification ends.
        try bob.requestVerification(of: "@alice:s")
        #expect(try bob.machine.verifications.count == 10 && bob.verification.direction == .outgoing)
        #expect(throws: EncryptionError.unexpected) { try bob.requestVerification(of: "@alice:s") }
        try bob.wait(1_800_000)
        server.inject("request", request("y", from: "A"), from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(try bob.verification.id.transaction == "y")
    }

    /// Every second request cancels both: the user may not start more.
    @Test func requestsWithoutEndAreNotAllAnswered() throws {
        for number in 0..<200 {
            server.inject("request", request("\(number)", from: "A"), from: "@alice:s", to: bob.address)
        }
        try bob.sync()
        #expect(server.cancelCodes(to: alice.address).count == 10)
    }

    /// A user who causes cancellations does not delay messages to others.
    @Test func cancelsWaitForNothing_andNothingWaitsForThem() throws {
        for number in 0..<10 {
            server.inject("request", request("\(number)", from: "A"), from: "@alice:s", to: bob.address)
        }
        let sync = server.sync(bob.address)
        try bob.turn { try $0.receive(sync, &$1) }
        _ = try bob.turn { try $0.requestVerification(of: "@alice:s", &$1) }
        let sent = try bob.turn { try $0.requests(&$1) }
        #expect(sent.count { $0.call.isMessage("cancel") } == 10 && sent.count { $0.call.isMessage("request") } == 1)
    }

    @Test func strangersAreAskedForThirtyTimesInTenMinutes() throws {
        func send(_ numbers: Range<Int>) throws -> Int {
            let before = queries
            for number in numbers {
                server.inject("request", request("t", from: "X"), from: "@u\(number):t", to: bob.address)
                try bob.sync()
            }
            return queries - before
        }
        #expect(try send(0..<50) == 30)
        #expect(bob.machine.verifications.isEmpty)
        bob.now += 600_000
        #expect(try send(50..<100) == 30)
    }

    private var queries: Int {
        server.requests.count { if case .queryKeys(let users) = $0.call { users != ["@bob:s"] } else { false } }
    }

    @Test func whatWaitsForKeysIsBounded() throws {
        server.failures = ["t"]
        for number in 0..<100 {
            for id in 0..<3 {
                server.inject("request", request("\(id)", from: "X"), from: "@u\(number):t", to: bob.address)
            }
        }
        let sync = server.sync(bob.address)
        try bob.turn { try $0.receive(sync, &$1) }
        #expect(bob.machine.verificationTraffic.heldCount == 20)
        try bob.wait(120_000)
        #expect(bob.machine.verificationTraffic.heldCount == 0)
    }

    @Test func unknownTransactionsAreCancelledAHundredTimesInTenMinutes() throws {
        func send(_ prefix: String) throws -> Int {
            for number in 0..<150 {
                server.inject(
                    "key", object { $0.add("transaction_id", "\(prefix)\(number)") }, from: "@alice:s", to: bob.address)
            }
            try bob.sync()
            defer { server.devices[alice.address]?.messages = [] }
            return server.cancelCodes(to: alice.address).count
        }
        #expect(try send("a") == 100)
        #expect(try send("b") == 0)
        bob.now += 600_000
        #expect(try send("c") == 100)
    }

    @Test(arguments: ["", String(repeating: "x", count: 256)]) func idsAreNeitherEmptyNorEndless(id: String) throws {
        server.inject("request", request(id, from: "A"), from: "@alice:s", to: bob.address)
        server.inject("request", request("t", from: id), from: "@alice:s", to: bob.address)
        server.inject("key", object { $0.add("transaction_id", id) }, from: "@alice:s", to: bob.address)
        try bob.sync()
        #expect(bob.machine.verifications.isEmpty && server.messages(to: alice.address).isEmpty)
    }

    @Test func largeContentsAreIgnored() throws {
        for (count, isTaken) in [(65_536, false), (60_000, true)] {
            let content = request("\(count)", from: "A").with(["x": "\"" + String(repeating: "x", count: count) + "\""])
            server.inject("request", content, from: "@alice:s", to: bob.address)
            try bob.sync()
            #expect(bob.machine.verifications.isEmpty != isTaken)
        }
    }

    @Test func idsThatOnlyLookAlikeAreDifferent() throws {
        try alice.requestVerification(of: "@bob:s")
        let kelvin = Verification.ID(user: "@bob:s", transaction: "\u{212A}")
        #expect(kelvin != Verification.ID(user: "@bob:s", transaction: "K"))
        #expect(
            Verification.ID(user: "@bob:s", roomId: "", transaction: "K")
                != Verification.ID(user: "@bob:s", transaction: "K"))
        #expect(Set([kelvin, Verification.ID(user: "@bob:s", transaction: "K")]).count == 2)
    }

    @Test(.rule("R3"), arguments: ["request", "ready", "start", "accept", "key", "mac", "done", "cancel", "new"])
    func anyContentIsTakenOrRefused(type: String) throws {
        try scene.compare(alice, bob)
        let id = try alice.verification.id.transaction
        let values = ["null", "1", "-1", "1e400", "\"\"", "\"x\"", "[]", "{}", "[1]", "[\"m.sas.v1\"]", "true"]
        let members = [
            "from_device", "methods", "timestamp", "method", "key", "mac", "keys", "commitment", "code", "hashes",
            "secret",
        ]
        for (number, value) in values.enumerated() {
            for transaction in [id, "t\(number)"] {
                let content = object { content in
                    content.add("transaction_id", transaction)
                    for member in members { content.add(member, json: value) }
                }
                _ = try alice.stateAfter(type, content, from: "@bob:s")
            }
        }
        #expect(try alice.isComparing)
    }
}
