import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// One verification as a value, step by step.
@Suite struct VerificationTests {
    private let keys: (alice: Ed25519PublicKey, bob: Ed25519PublicKey, mallory: Ed25519PublicKey)
    private let (aliceMaster, bobMaster): (Ed25519PublicKey, Ed25519PublicKey)
    private let now: UInt64 = 1_700_000_000_000

    init() {
        func key() -> Ed25519PublicKey { Ed25519KeyPair(random: .system).publicKey }
        (keys, aliceMaster, bobMaster) = ((key(), key(), key()), key(), key())
    }

    private func alice(methods: Set<VerificationMethod> = [.sas]) -> Verification {
        Verification(
            .init(user: "@bob:s", transaction: "t"), .outgoing, me: DeviceAddress("@alice:s", "A"), device: nil,
            keys: VerificationKeys(
                device: keys.alice, ownMaster: aliceMaster, trustsOwnMaster: true, otherMaster: bobMaster,
                otherDevices: [.init(id: "B", key: keys.bob), .init(id: "B2", key: keys.mallory)]),
            methods: methods, time: now, now: now)
    }

    private func bob(methods: Set<VerificationMethod> = [.sas]) -> Verification {
        var verification = Verification(
            .init(user: "@alice:s", transaction: "t"), .incoming, me: DeviceAddress("@bob:s", "B"), device: "A",
            keys: VerificationKeys(
                device: keys.bob, ownMaster: bobMaster, trustsOwnMaster: true, otherMaster: aliceMaster,
                otherDevices: [.init(id: "A", key: keys.alice)]),
            methods: methods, time: now, now: now)
        let isPossible = verification.requested([.sas])
        #expect(isPossible)
        return verification
    }

    /// Messages to send, with their recipients.
    private func sent(_ actions: [Verification.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .send(let event, let devices): "\(event.type) to \(devices.joined(separator: " "))"
            case .trust(let proof): "trust\(proof.device ? " device" : "")\(proof.master ? " master" : "")"
            }
        }
    }

    /// Delivers one side's messages to the other.
    private func pass(_ actions: [Verification.Action], to other: inout Verification) throws -> [Verification.Action] {
        var answers: [Verification.Action] = []
        for case .send(let event, _) in actions where event.type != .request {
            answers += other.received(
                try VerificationMessage(event.type, event.content), now: now, random: .system)
        }
        return answers
    }

    @Test func fromTheRequestToTheEnd() throws {
        var (alice, bob) = (alice(), bob())
        let request = alice.request(now: now)
        #expect(sent(request) == ["request to B B2"])
        let ready = try bob.accept(now: now, random: .system)
        #expect(sent(ready) == ["ready to A"])
        #expect(try sent(pass(ready, to: &alice)) == ["cancel to B2"])
        let start = try alice.startComparing(now: now)
        #expect(sent(start) == ["start to B"] && alice.state == .exchanging)
        let accept = try pass(start, to: &bob)
        #expect(sent(accept) == ["accept to A"])
        let key = try pass(accept, to: &alice)
        #expect(sent(key) == ["key to B"])
        let bobsKey = try pass(key, to: &bob)
        #expect(sent(bobsKey) == ["key to A"])
        #expect(try pass(bobsKey, to: &alice) == [])
        #expect(alice.state == bob.state && alice.state.emoji.count == 7)
        let codes = try alice.confirmSame(now: now)
        #expect(sent(codes) == ["mac to B"])
        #expect(try pass(codes, to: &bob) == [])
        let end = try bob.confirmSame(now: now)
        #expect(sent(end) == ["mac to A", "trust device master", "done to A"] && bob.state == .verified)
        let done = try pass(end, to: &alice)
        #expect(sent(done) == ["trust device master", "done to B"] && alice.state == .done)
        #expect(try pass(done, to: &bob) == [] && bob.state == .done)
        #expect(bob.deadline == nil && alice.cancel(.user, now: now) == [])
    }

    @Test(arguments: [0, 1, 2, 3, 4] as [Int]) func itCanBeCancelledAtAnyTime(steps: Int) throws {
        var (alice, bob) = (alice(), bob())
        var actions = try bob.accept(now: now, random: .system)
        actions = try pass(actions, to: &alice)
        if steps > 0 { actions = try alice.startComparing(now: now) }
        for step in 1..<max(steps, 1) {
            actions = try step % 2 == 1 ? pass(actions, to: &bob) : pass(actions, to: &alice)
        }
        let cancel = alice.cancel(.user, now: now)
        #expect(sent(cancel) == ["cancel to B"] && alice.state == .cancelled(code: .user, byPeer: false))
        #expect(try pass(cancel, to: &bob) == [] && bob.state == .cancelled(code: .user, byPeer: true))
        #expect(alice.cancel(.timeout, now: now) == [] && bob.cancel(.user, now: now) == [])
        #expect(throws: EncryptionError.unexpected) { try alice.startComparing(now: now) }
    }

    /// A server with neither the keys nor the code, and users who confirm everything.
    @Test(.rule("R25")) func withoutTheKeysNothingIsTrusted_whateverComes() throws {
        var generator = XorShift(seed: 25)
        let pair = Curve25519KeyPair(random: .system)
        let all = Set(VerificationMethod.allCases)
        var reached: Set<String> = []
        for _ in 0..<1_000 {
            var verification = Bool.random(using: &generator) ? alice(methods: all) : bob(methods: all)
            let device = verification.device ?? "B"
            var start: JSONView?
            for _ in 0..<16 {
                let offer = content { content in
                    content.add("from_device", device)
                    SASExchange.offer(&content)
                }
                let commitment = try start.map {
                    try ShortAuthenticationString.commitment(key: pair.publicKey, start: $0)
                }
                let messages: [(VerificationEventType, JSONView)] = [
                    (
                        .ready,
                        content {
                            $0.add("from_device", device)
                            $0.add(
                                "methods",
                                json: #"["m.sas.v1","m.reciprocate.v1","m.qr_code.scan.v1","m.qr_code.show.v1"]"#)
                        }
                    ),
                    (.start, offer),
                    (
                        .start,
                        content {
                            $0.add("from_device", device)
                            $0.add("method", "m.reciprocate.v1")
                            $0.add("secret", UnpaddedBase64.encode([UInt8](repeating: 0, count: 16)))
                        }
                    ),
                    (
                        .accept,
                        content {
                            $0.add("key_agreement_protocol", "curve25519-hkdf-sha256")
                            $0.add("hash", "sha256")
                            $0.add("message_authentication_code", "hkdf-hmac-sha256.v2")
                            $0.add("short_authentication_string", json: #"["emoji"]"#)
                            $0.add("commitment", commitment ?? "x")
                        }
                    ),
                    (.key, content { $0.add("key", pair.publicKey.base64) }),
                    (
                        .mac,
                        content {
                            $0.add("mac", json: #"{"ed25519:A":"AAAA","ed25519:B":"AAAA"}"#)
                            $0.add("keys", UnpaddedBase64.encode([UInt8](repeating: 1, count: 32)))
                        }
                    ),
                    (.done, content { _ in }),
                ]
                let actions: [Verification.Action]
                switch Int.random(in: 0..<12, using: &generator) {
                case 0: actions = (try? verification.accept(now: now, random: .system)) ?? []
                case 1: actions = (try? verification.startComparing(now: now)) ?? []
                case 2: actions = (try? verification.confirmSame(now: now)) ?? []
                case 3: actions = (try? verification.confirmScanned(now: now)) ?? []
                case let choice:
                    let (type, content) = messages[choice % messages.count]
                    // Most messages out of turn would end it at once.
                    guard isExpected(type, verification.state) || Int.random(in: 0..<20, using: &generator) == 0
                    else { continue }
                    actions = verification.received(
                        try VerificationMessage(type, content), now: now, random: .system)
                }
                for case .send(let event, _) in actions where event.type == .start { start = event.content }
                reached.insert("\(verification.state)".prefix { $0 != "(" }.description)
                #expect(!actions.contains { if case .trust = $0 { true } else { false } })
            }
            #expect(verification.state != .verified && verification.state != .done && verification.proof == nil)
        }
        #expect(reached.isSuperset(of: ["requested", "ready", "exchanging", "comparing", "cancelled"]))
    }

    private func content(_ body: (inout JSONWriter) -> Void) -> JSONView { object(body) }

    private func isExpected(_ type: VerificationEventType, _ state: Verification.State) -> Bool {
        switch state {
        case .requested: type == .ready
        case .ready: type == .start
        case .exchanging: type == .accept || type == .key
        case .comparing: type == .mac || type == .done
        case .scanned, .reciprocated: type == .done
        case .verified, .done, .cancelled: false
        }
    }

    @Test func anUnknownCancelCodeCancelsToo() throws {
        var bob = bob()
        let content = object { $0.add("code", "org.example.new") }
        #expect(try bob.received(VerificationMessage(.cancel, content), now: now, random: .system) == [])
        #expect(bob.state == .cancelled(code: nil, byPeer: true))
        for content in [JSONView.nothing, object { _ in }] {
            #expect(try VerificationMessage(.cancel, content) == .cancel(nil))
        }
    }

    @Test func commandsAtTheWrongTimeAreRefused() throws {
        var (alice, bob) = (alice(), bob())
        for command: (inout Verification) throws -> [Verification.Action] in [
            { try $0.accept(now: now, random: .system) }, { try $0.startComparing(now: now) },
            { try $0.scanned([], now: now) }, { try $0.confirmSame(now: now) }, { try $0.confirmScanned(now: now) },
        ] {
            #expect(throws: EncryptionError.unexpected) { try command(&alice) }
        }
        _ = try bob.accept(now: now, random: .system)
        #expect(throws: EncryptionError.unexpected) { try bob.accept(now: now, random: .system) }
    }

    @Test func keysThatChangeAreSeen() {
        let keys = alice().keys
        func changed(_ body: (inout VerificationKeys) -> Void) -> VerificationKeys {
            var other = keys
            body(&other)
            return other
        }
        let other = VerificationKeys(
            device: keys.device, ownMaster: bobMaster, trustsOwnMaster: true, otherMaster: keys.otherMaster,
            otherDevices: keys.otherDevices)
        #expect(!keys.hasChanged(to: keys, device: "B") && keys.hasChanged(to: other, device: nil))
        let without = changed { $0.otherDevices.removeFirst() }
        #expect(keys.hasChanged(to: without, device: "B"))
        #expect(!keys.hasChanged(to: without, device: "B2") && !keys.hasChanged(to: without, device: nil))
        let replaced = changed { $0.otherDevices[0] = .init(id: "B", key: bobMaster) }
        #expect(keys.hasChanged(to: replaced, device: "B"))
    }
}
