import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Servers and users who alter parts of a verification.
@Suite struct VerificationTamperTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    /// Starts a verification, up to the moment when Bob's `accept` is pending at the server.
    private func start() throws {
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        try bob.acceptVerification()
        try alice.sync()
        try alice.startComparing()
        try bob.sync()
    }

    /// All texts that differ in one character from the base64 of 32 bytes.
    private func changes(of text: String) -> [String] {
        Array(text.utf8).indices.map { index in
            var bytes = Array(text.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "E") : UInt8(ascii: "A")
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private func expectNothingVerified(_ comment: Comment? = nil) throws {
        #expect(try !alice.isVerified("@bob:s") && !bob.isVerified("@alice:s"), comment)
        #expect(try !alice.trust(bob).isVerified && !bob.trust(alice).isVerified, comment)
    }

    // MARK: Wrong bytes

    @Test(.rule("R25")) func everyWrongByteOfACommitmentCancels() throws {
        try start()
        let accept = try #require(server.messages(to: alice.address).last?["content"])
        let started = alice.machine
        try alice.sync()
        try bob.sync()
        let key = try #require(server.messages(to: alice.address).last?["content"])
        let commitments = changes(of: try #require(accept["commitment"]?.string))
        #expect(commitments.count == 43)
        for commitment in commitments {
            let message = accept.with(["commitment": "\"\(commitment)\""])
            var (machine, turn) = (started, CryptoTurn(Records(alice.records), now: alice.now, random: .system))
            try machine.receive(verification: "m.key.verification.accept", message, from: "@bob:s", &turn)
            try machine.receive(verification: "m.key.verification.key", key, from: "@bob:s", &turn)
            #expect(machine.verifications.last?.state.ownCode == .mismatchedCommitment)
        }
        try alice.sync()
        #expect(try alice.isComparing)  // with the correct one
    }

    @Test(.rule("R25")) func everyWrongByteOfTheCommittedKeyCancels() throws {
        try start()
        for device in [alice, bob] { try device.sync() }
        let content = try #require(server.messages(to: alice.address).last?["content"])
        for key in changes(of: try #require(content["key"]?.string)) {
            let state = try alice.stateAfter("key", content.with(["key": "\"\(key)\""]), from: "@bob:s")
            // A text that is not a key at all is invalid.
            let isKey = (try? Curve25519PublicKey(base64: key)) != nil
            #expect(state.ownCode == (isKey ? .mismatchedCommitment : .invalidMessage))
        }
        try alice.sync()
        #expect(try alice.isComparing)
    }

    @Test(.rule("R25", "R26")) func everyWrongByteOfTheStartersKeyIsSeen() throws {
        try start()
        try alice.sync()
        let content = try #require(server.messages(to: bob.address).last?["content"])
        let right = try bob.stateAfter("key", content, from: "@alice:s")
        #expect(right.emoji.count == 7)
        for key in changes(of: try #require(content["key"]?.string))
        where (try? Curve25519PublicKey(base64: key)) != nil {
            let state = try bob.stateAfter("key", content.with(["key": "\"\(key)\""]), from: "@alice:s")
            #expect(state.emoji.count == 7 && state.emoji != right.emoji)
        }
    }

    @Test(.rule("R25")) func usersWhoDoNotCompareAreToldByTheCodes() throws {
        try start()
        try alice.sync()
        try server.change("key", to: bob.address) { content in
            let key = try #require(content["key"]?.string)
            return content.with(["key": "\"\(changes(of: key)[7])\""])
        }
        try scene.exchange(alice, bob)
        #expect(try alice.isComparing && bob.isComparing && alice.shown != bob.shown)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try [alice.state.ownCode, bob.state.ownCode].contains(.keyMismatch))
        try expectNothingVerified()
    }

    @Test(.rule("R1")) func aKeyOfLowOrderCancels() throws {
        try start()
        try alice.sync()
        let zero = UnpaddedBase64.encode([UInt8](repeating: 0, count: 32))
        server.change("key", to: bob.address) { $0.with(["key": "\"\(zero)\""]) }
        try bob.sync()
        #expect(try bob.state.ownCode == .invalidMessage)
    }

    @Test(.rule("R25")) func everyWrongByteOfCodesCancels() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        let content = try #require(server.messages(to: alice.address).last?["content"])
        var changed: [JSONView] = changes(of: try #require(content["keys"]?.string)).map {
            content.with(["keys": "\"\($0)\""])
        }
        let codes = try #require(content["mac"])
        #expect(codes.members.count == 2)
        for (id, code) in codes.members {
            changed += changes(of: try #require(code.string)).map {
                content.with(["mac": codes.with([id: "\"\($0)\""]).compactText])
            }
            changed.append(content.with(["mac": codes.with([id: nil]).compactText]))
            changed.append(content.with(["mac": codes.with([id: nil, id + "x": code.compactText]).compactText]))
        }
        changed.append(content.with(["mac": "{}"]))
        #expect(changed.count == 43 * 3 + 5)
        for content in changed {
            #expect(try alice.stateAfter("mac", content, from: "@bob:s").ownCode == .keyMismatch)
        }
        for content in [content.with(["mac": nil]), content.with(["keys": nil]), content.with(["mac": "[]"])] {
            #expect(try alice.stateAfter("mac", content, from: "@bob:s").ownCode == .invalidMessage)
        }
        try alice.sync()
        #expect(try alice.isComparing)
        try alice.confirmSame()
        #expect(try alice.isVerified("@bob:s"))
    }

    // MARK: A server in the middle

    @Test(.rule("R26")) func aServerThatSwapsKeysIsSeen() throws {
        try start()
        // The server answers for Bob with a commitment to a key of its own, and starts a verification with Bob with
        // another key.
        let (toAlice, toBob) = (Curve25519KeyPair(random: .system), Curve25519KeyPair(random: .system))
        let sent = try #require(
            server.requests.last { $0.call.isMessage("start") }.flatMap { JSONView(Array($0.body.utf8)) })
        let start = try #require(sent["messages"]?["@bob:s"]?["B"])
        let commitment = try ShortAuthenticationString.commitment(key: toAlice.publicKey, start: start)
        server.change("accept", to: alice.address) { $0.with(["commitment": "\"\(commitment)\""]) }
        try alice.sync()
        server.change("key", to: bob.address) { $0.with(["key": "\"\(toBob.publicKey.base64)\""]) }
        try bob.sync()
        server.change("key", to: alice.address) { $0.with(["key": "\"\(toAlice.publicKey.base64)\""]) }
        try alice.sync()
        #expect(try alice.isComparing && bob.isComparing && alice.shown != bob.shown)
    }

    @Test(.rule("R25")) func ourOwnMessagesThatComeBackVerifyNothing() throws {
        let second = try scene.join("@alice:s", "A2")
        try scene.compare(alice, second)
        try alice.confirmSame()
        // The server returns Alice's own codes to her.
        let codes = try #require(server.messages(to: second.address).last?["content"])
        server.inject("mac", codes, from: "@alice:s", to: alice.address)
        try alice.sync()
        #expect(try alice.state.ownCode == .keyMismatch)
        #expect(try !alice.trust(second).isVerified)
        // Nor does she answer her own request.
        try alice.requestVerification(of: "@alice:s")
        let request = try #require(server.messages(to: second.address).last?["content"])
        server.inject("request", request, from: "@alice:s", to: alice.address)
        server.inject("ready", request, from: "@alice:s", to: alice.address)
        try alice.sync()
        #expect(try alice.state == .requested && alice.verification.direction == .outgoing)
        // Nor a request that the server derived from it.
        let count = alice.machine.verifications.count
        server.inject(
            "request", request.with(["transaction_id": "\"other\""]), from: "@alice:s", to: alice.address)
        try alice.sync()
        #expect(alice.machine.verifications.count == count)
    }

    @Test func weakerCodesThanBothHaveVerifyNothing() throws {
        try start()
        #expect(
            server.messages(to: alice.address).last?["content"]?["message_authentication_code"]?.string
                == "hkdf-hmac-sha256.v2")
        server.change("accept", to: alice.address) { $0.with(["message_authentication_code": "\"hkdf-hmac-sha256\""]) }
        try scene.exchange(alice, bob)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try [alice.state.ownCode, bob.state.ownCode].contains(.keyMismatch))
        try expectNothingVerified()
    }

    @Test(arguments: [
        ("key_agreement_protocol", "\"curve25519\""), ("hash", "\"md5\""), ("message_authentication_code", "\"x\""),
        ("short_authentication_string", "[]"), ("short_authentication_string", "[\"x\"]"),
    ]) func choicesThatNobodyOfferedCancel(member: String, value: String) throws {
        try start()
        server.change("accept", to: alice.address) { $0.with([member: value]) }
        try alice.sync()
        #expect(try alice.state.ownCode == .unknownMethod)
    }

    @Test(arguments: ["key_agreement_protocol", "hash", "message_authentication_code", "commitment"])
    func choicesThatAreMissingCancel(member: String) throws {
        try start()
        server.change("accept", to: alice.address) { $0.with([member: nil]) }
        try alice.sync()
        #expect(try alice.state.ownCode == .invalidMessage)
    }

    // MARK: Hashed content

    @Test(.rule("R28")) func aStartIsHashedAsItCame() throws {
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        try bob.acceptVerification()
        try alice.sync()
        try alice.startComparing()
        // Adds a member that Bob does not know: he commits to the content that he received.
        var changed = JSONView.nothing
        server.change("start", to: bob.address) { content in
            changed = content.with(["x.new": #"{"b":[1,"é"],"a":null}"#])
            return changed
        }
        try bob.sync()
        let accept = try #require(server.messages(to: alice.address).last?["content"])
        try alice.sync()
        try bob.sync()
        let key = try #require(server.messages(to: alice.address).last?["content"]?["key"]?.string)
        #expect(
            try ShortAuthenticationString.commitment(key: Curve25519PublicKey(base64: key), start: changed)
                == accept["commitment"]?.string)
        try alice.sync()  // she sent different content
        #expect(try alice.state.ownCode == .mismatchedCommitment)
    }

    @Test func aStartThatCannotBeHashedCancels() throws {
        try alice.requestVerification(of: "@bob:s")
        try bob.sync()
        try bob.acceptVerification()
        try alice.sync()
        try alice.startComparing()
        server.change("start", to: bob.address) { $0.with(["x": "1.5"]) }
        try bob.sync()
        #expect(try bob.state.ownCode == .invalidMessage)
    }

    // MARK: Keys

    @Test(.rule("R29")) func aMasterKeyThatChangesMeanwhileCancels() throws {
        try scene.compare(alice, bob)
        let mallory = try TestDevice("@bob:s", "M", on: KeyServer())
        try mallory.makeIdentity()
        server.identities["@bob:s"] = mallory.server.identities["@bob:s"]
        server.noteChange(of: "@bob:s")
        try alice.sync()
        #expect(try alice.state.ownCode == .keyMismatch)
        #expect(try !alice.isVerified("@bob:s"))
    }

    @Test(.rule("R29")) func aDeviceThatGoesMeanwhileCancels() throws {
        try scene.compare(alice, bob)
        let device = server.devices[bob.address]
        server.removeDevice(bob.address)
        try alice.sync()
        #expect(try alice.state.ownCode == .keyMismatch)
        server.devices[bob.address] = device
    }

    @Test(.rule("R29")) func ourOwnMasterKeyThatChangesMeanwhileCancels() throws {
        try scene.compare(alice, bob)
        let mallory = try TestDevice("@alice:s", "M", on: KeyServer())
        try mallory.makeIdentity()
        server.identities["@alice:s"] = mallory.server.identities["@alice:s"]
        server.noteChange(of: "@alice:s")
        try alice.sync()
        #expect(try alice.state.ownCode == .keyMismatch)
    }

    @Test(.rule("R29")) func otherKeysThatTheServerListsAreNotVerified() throws {
        try scene.compare(alice, bob)
        try bob.confirmSame()
        // New keys for the same device ID, which Alice never accepts.
        let impostor = try TestDevice("@bob:s", "B", on: KeyServer())
        let known = server.devices[bob.address]?.keys
        server.devices[bob.address]?.keys = impostor.server.devices[bob.address]?.keys
        server.noteChange(of: "@bob:s")
        try alice.sync()
        #expect(try alice.state.ownCode == .keyMismatch)
        server.devices[bob.address]?.keys = known
        server.noteChange(of: "@bob:s")
        #expect(throws: EncryptionError.unknownDevice) {
            try alice.sync(); try alice.requestVerification(of: "@bob:s")
        }
    }

    @Test(.rule("R29")) func aDeviceThatComesMeanwhileChangesNothing() throws {
        try scene.compare(alice, bob)
        _ = try scene.join("@bob:s", "B2")
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try alice.state == .done && alice.isVerified("@bob:s"))
    }

    @Test(.rule("R27"), arguments: CrossSigningUsage.allCases)
    func aDeviceWhoseIdIsAKeyOfItsUserIsRefused(usage: CrossSigningUsage) throws {
        // Bob's server gives his new device this ID. Other users do not see user-signing keys.
        let key = try #require(try bob.identity(of: "@bob:s").key(usage)).publicKey.base64
        _ = try scene.join("@bob:s", key)
        switch usage {
        case .master, .selfSigning:
            #expect(throws: EncryptionError.keys) { try alice.requestVerification(of: "@bob:s") }
            try bob.requestVerificationIgnoringRules(of: alice)
            try alice.sync()
            #expect(alice.machine.verifications.isEmpty)
        case .userSigning: break
        }
        #expect(throws: EncryptionError.keys) { try bob.requestVerification(of: "@bob:s") }
    }

    @Test(.rule("R27")) func aDeviceWhoseIdIsAKeyCancelsWhatRuns() throws {
        try scene.compare(alice, bob)
        let key = try bob.identity(of: "@bob:s").master.publicKey.base64
        _ = try TestDevice("@bob:s", key + "=", on: server)  // the same key with padding
        try alice.sync()
        #expect(try alice.state.ownCode == .keyMismatch)
    }

    @Test(.rule("R27")) func ourOwnDeviceWhoseIdIsAKeyOfOursVerifiesNobody() throws {
        let key = try alice.identity(of: "@alice:s").master.publicKey.base64
        let second = try scene.join("@alice:s", key)
        try second.know("@bob:s")
        #expect(throws: EncryptionError.keys) { try second.requestVerification(of: "@bob:s") }
    }

    /// Alice was given another master key of Bob's: his codes name the real one.
    @Test(.rule("R29"), arguments: [true, false]) func anotherMasterKeyThanThePeersCancels(isHidden: Bool) throws {
        let mallory = try TestDevice("@bob:s", "M", on: KeyServer())
        try mallory.makeIdentity()
        let carol = try TestDevice("@carol:s", "C", on: server)
        let identity = server.identities["@bob:s"]
        server.identities["@bob:s"] = isHidden ? nil : mallory.server.identities["@bob:s"]
        try carol.know("@bob:s")
        server.identities["@bob:s"] = identity
        try bob.know("@carol:s")
        try scene.compare(carol, bob)
        #expect(try carol.isComparing && carol.shown == bob.shown)
        try bob.confirmSame()
        try carol.sync()
        #expect(try carol.state.ownCode == .keyMismatch)
        #expect(try !carol.trust(bob).isVerified)
    }

    // MARK: Senders

    @Test func othersWithTheSameTransactionAreNotHeard() throws {
        let eve = try TestDevice("@eve:s", "E", on: server)
        try scene.compare(alice, bob)
        let id = try alice.verification.id.transaction
        for type in ["cancel", "done", "mac", "key", "accept"] {
            server.inject(type, object { $0.add("transaction_id", id) }, from: "@eve:s", to: alice.address)
        }
        try alice.sync()
        #expect(try alice.isComparing)
        #expect(server.cancelCodes(to: eve.address) == ["m.unknown_transaction"])
        #expect(server.cancelCodes(to: bob.address).isEmpty)
    }

    @Test func anotherDeviceOfTheSameUserDoesNotTakeOver() throws {
        let second = try scene.join("@bob:s", "B2")
        try alice.requestVerification(of: "@bob:s", device: "B")
        let id = try alice.verification.id.transaction
        let ready = object { content in
            content.add("transaction_id", id)
            content.add("from_device", "B2")
            content.add("methods", json: #"["m.sas.v1"]"#)
        }
        server.inject("ready", ready, from: "@bob:s", to: alice.address)
        try alice.sync()
        #expect(try alice.state == .requested)
        try bob.sync()
        try bob.acceptVerification()
        try alice.sync()
        var start = JSONWriter()
        start.add("transaction_id", id)
        start.add("from_device", "B2")
        SASExchange.offer(&start)
        server.inject("start", start.view, from: "@bob:s", to: alice.address)
        try alice.sync()
        #expect(try alice.state.isReady)
        #expect(server.types(to: second.address).isEmpty)
    }

    @Test func messagesOutOfTurnCancel() throws {
        for type in ["start", "accept", "key", "mac", "done"] {
            try alice.requestVerification(of: "@bob:s")
            try bob.sync()
            let id = try bob.verification.id.transaction
            let content = object { content in
                content.add("transaction_id", id)
                content.add("from_device", "A")
                SASExchange.offer(&content)
                content.add("key_agreement_protocol", "curve25519-hkdf-sha256")
                content.add("hash", "sha256")
                content.add("message_authentication_code", "hkdf-hmac-sha256.v2")
                content.add("short_authentication_string", json: #"["emoji"]"#)
                content.add("commitment", "x")
                content.add("key", Curve25519KeyPair(random: .system).publicKey.base64)
                content.add("mac", json: "{}")
                content.add("keys", "x")
            }
            server.inject(type, content, from: "@alice:s", to: bob.address)
            try bob.sync()
            #expect(try bob.state.ownCode == .unexpectedMessage, "\(type)")
            try alice.sync()
            #expect(try alice.state.peersCode == .unexpectedMessage, "\(type)")
        }
    }
}

extension TestDevice {
    /// Requests a verification like a client that does not check device IDs.
    func requestVerificationIgnoringRules(of other: TestDevice) throws {
        let content = object { content in
            content.add("transaction_id", "rules")
            content.add("from_device", address.device)
            content.add("methods", json: #"["m.sas.v1"]"#)
            content.add("timestamp", json: "\(now)")
        }
        server.inject("request", content, from: address.user, to: other.address)
    }
}
