import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Devices that communicate through a key server.
@Suite struct CryptoMachineTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
    }

    private func join(_ user: String, _ device: String) throws -> TestDevice {
        let device = try TestDevice(user, device, on: server)
        try device.encryptRoom("!r:s")
        return device
    }

    /// Peers look up an unknown device, and drop its messages if the server does not have it.
    @Test func nothingIsSentBeforeTheServerKnowsTheDevice() throws {
        var turn = CryptoTurn(Records(MemoryRecords()), now: 1_700_000_000_000, random: .system)
        var machine = try CryptoMachine(me: DeviceAddress("@carol:s", "C"), &turn)
        let item = OutboxRecord(type: "m.key.verification.request", transactionId: "t", body: "{}", shares: [])
        try machine.post(item, &turn)
        let first = try machine.requests(&turn)
        #expect(first.map(\.call) == [.uploadKeys])
        let upload = try #require(first.first)
        try machine.answered(upload.id, object { $0.add("one_time_key_counts", json: "{}") }, &turn)
        #expect(try machine.requests(&turn).map(\.call).contains(item.call))
    }

    @Test func twoDevicesReadEachOther() throws {
        for round in 0..<5 {
            let hello = try alice.send("hello \(round)", to: room)
            try bob.sync()
            #expect(try bob.text(hello) == "hello \(round)")
            let answer = try bob.send("answer \(round)", to: room)
            try alice.sync()
            #expect(try alice.text(answer) == "answer \(round)")
            #expect(try alice.text(hello) == "hello \(round)")  // its own message
            try alice.restart()
            try bob.restart()
        }
        // One key each way: later messages need no more.
        #expect(server.requests.count { if case .sendToDevice = $0.call { true } else { false } } == 2)
        #expect(server.requests.count { if case .claimKeys = $0.call { true } else { false } } == 1)
    }

    @Test func keysLieOnTheServer() throws {
        #expect(server.oneTimeKeyCount(of: alice.address) == 50)
        let openers = try (0..<30).map { try join("@u\($0):s", "D") }
        for opener in openers { _ = try opener.send("hi", to: .room("@alice:s", opener.address.user)) }
        #expect(server.oneTimeKeyCount(of: alice.address) == 20)
        try alice.sync()
        #expect(server.oneTimeKeyCount(of: alice.address) == 50)
    }

    @Test(arguments: [-1_000_000_000, Int.min]) func aServerThatCountsLessThanNothingGetsNoMoreKeys(count: Int) throws {
        server.tamper = { request, answer in
            guard case .uploadKeys = request.call else { return answer }
            return object { $0.add("one_time_key_counts", object { $0.add("signed_curve25519", json: "\(count)") }) }
        }
        let carol = try join("@carol:s", "C")
        carol.now += 15_000
        try carol.pump()
        #expect(server.oneTimeKeyCount(of: carol.address) <= 200)
    }

    @Test func theFallbackKeyServesWhenTheOthersAreUsedUp_andIsReplaced() throws {
        let openers = try (0..<53).map { try join("@u\($0):s", "D") }
        let events = try openers.map { try $0.send("hi", to: .room("@alice:s", $0.address.user)) }
        try alice.sync()
        for event in events { #expect(try alice.text(event) == "hi") }
        let late = try join("@late:s", "D")
        let event = try late.send("late", to: .room("@alice:s", "@late:s"))
        try alice.sync()
        #expect(try alice.text(event) == "late")
    }

    @Test(.rule("R20")) func aMessageWaitsForItsKey() throws {
        let event = try alice.send("early", to: room)
        #expect(try bob.failure(event) == .unknownSession)
        try bob.sync()
        let session = try #require(event.content["session_id"]?.string)
        #expect(bob.takeNotices().contains(.roomKey(roomId: "!r:s", sessionId: session)))
        let waiting = try bob.turn { try $0.takeWaiting(roomId: "!r:s", sessionId: session, &$1) }
        #expect(waiting == [event.eventId])
        #expect(try bob.text(event) == "early")
    }

    // MARK: Readers

    @Test(.rule("R13")) func anAnswerOfBeforeAUserWasLeftIsNotTakenForANewOne() throws {
        try alice.turn { try $0.track(["@carol:s"], &$1) }
        let requests = try alice.turn { try $0.requests(&$1) }
        let query = try #require(requests.first { if case .queryKeys = $0.call { true } else { false } })
        let old = try server.answer(query, from: alice.address)
        try alice.turn { try $0.noteLeft(["@carol:s"], &$1) }
        let carol = try join("@carol:s", "C")
        alice.now += 1
        try alice.turn { try $0.track(["@carol:s"], &$1) }
        try alice.turn { try $0.answered(query.id, old, &$1) }
        let event = try alice.send("hello", to: .room("@alice:s", "@carol:s"))
        try carol.sync()
        #expect(try carol.text(event) == "hello")
    }

    /// Servers do not report new devices of users who are only invited.
    @Test func devicesOfWhoIsInvitedAreAskedForAgain() throws {
        let room = RoomToEncrypt(
            roomId: "!r:s", members: ["@alice:s", "@bob:s"], invited: ["@bob:s"], isSharedHistory: true)
        _ = try alice.send("first", to: room)
        let phone = try join("@bob:s", "PHONE")
        let soon = try alice.send("soon", to: room)
        alice.now += 600_000
        let later = try alice.send("later", to: room)
        try phone.sync()
        #expect(try phone.failure(soon) == .tooEarly)
        #expect(try phone.text(later) == "later")
    }

    @Test(.rule("R16")) func whoJoinsLaterReadsFromThere_whoLeavesReadsNoMore() throws {
        let first = try alice.send("first", to: room)
        let carol = try join("@carol:s", "C")
        let all = RoomToEncrypt.room("@alice:s", "@bob:s", "@carol:s")
        let second = try alice.send("second", to: all)
        #expect(first.content["session_id"]?.string == second.content["session_id"]?.string)
        try carol.sync()
        #expect(try carol.failure(first) == .tooEarly)
        #expect(try carol.text(second) == "second")
        let third = try alice.send("third", to: room)
        #expect(third.content["session_id"]?.string != second.content["session_id"]?.string)
        try carol.sync()
        #expect(try carol.failure(third) == .unknownSession)
        try bob.sync()
        for (event, text) in [(first, "first"), (second, "second"), (third, "third")] {
            #expect(try bob.text(event) == text)
        }
    }

    @Test func aNewDeviceReadsOnFromThen_oneThatIsGoneDoesNot() throws {
        let first = try alice.send("first", to: room)
        let second = try join("@bob:s", "B2")
        try alice.sync()  // reports the change
        let event = try alice.send("second", to: room)
        try second.sync()
        #expect(try second.failure(first) == .tooEarly)
        #expect(try second.text(event) == "second")
        server.removeDevice(second.address)
        try alice.sync()
        let third = try alice.send("third", to: room)
        #expect(third.content["session_id"]?.string != event.content["session_id"]?.string)
    }

    @Test(.rule("R17")) func theHundredAndFirstMessageHasAnotherSession() throws {
        var sessions: [String] = []
        for number in 0...200 {
            let event = try alice.send("\(number)", to: room)
            sessions.append(try #require(event.content["session_id"]?.string))
        }
        #expect(Set(sessions[0..<100]).count == 1 && Set(sessions[100..<200]).count == 1)
        #expect(Set(sessions).count == 3)
    }

    @Test func aSessionLivesAWeek_andAClockThatIsPutBackEndsIt() throws {
        func session() throws -> String? { try alice.send("x", to: room).content["session_id"]?.string }
        let first = try session()
        alice.now += 604_799_999
        #expect(try session() == first)
        alice.now += 1
        let second = try session()
        #expect(second != first)
        alice.now -= 604_800_000
        #expect(try session() != second)
    }

    @Test func aRoomRotatesAsItsStateSays_withinBounds() throws {
        try alice.encryptRoom(
            "!r:s", #"{"algorithm":"m.megolm.v1.aes-sha2","rotation_period_msgs":0,"rotation_period_ms":1}"#)
        let sessions = try (0..<3).map { _ in try alice.send("x", to: room).content["session_id"]?.string }
        #expect(Set(sessions).count == 3)
        // Encryption is never turned off, and never switched to an unknown algorithm.
        try alice.encryptRoom("!r:s", "{}")
        try alice.encryptRoom("!r:s", #"{"algorithm":"m.none"}"#)
        #expect(try alice.text(try alice.send("still", to: room)) == "still")
    }

    @Test func anUnknownAlgorithmIsRefused() throws {
        try alice.encryptRoom("!x:s", #"{"algorithm":"m.new"}"#)
        let other = RoomToEncrypt(roomId: "!x:s", members: ["@alice:s"], isSharedHistory: false)
        #expect(throws: SharingError.unknownAlgorithm) { try alice.send("x", to: other) }
    }

    @Test func blockedAndUnverifiedDevicesAreToldSo() throws {
        let second = try join("@bob:s", "B2")
        try alice.turn { try $0.track(["@bob:s"], &$1) }
        try alice.pump()
        try alice.turn { try $0.setTrust(.blocked, of: second.address, &$1) }
        let event = try alice.send("not for B2", to: room)
        try second.sync()
        #expect(try second.failure(event) == .withheld(code: "m.blacklisted"))
        try bob.sync()
        #expect(try bob.text(event) == "not for B2")
        // Once unblocked, it gets the session from the current index on.
        try alice.turn { try $0.setTrust(.unset, of: second.address, &$1) }
        let next = try alice.send("for B2", to: room)
        try second.sync()
        #expect(try second.text(next) == "for B2")
        #expect(try second.failure(event) == .tooEarly)

        let strict = RoomToEncrypt(
            roomId: "!r:s", members: room.members, isSharedHistory: true, policy: .verified)
        let secret = try alice.send("verified only", to: strict)
        try bob.sync()
        #expect(try bob.failure(secret) == .withheld(code: "m.unverified"))
        try alice.turn { try $0.setTrust(.verified, of: bob.address, &$1) }
        let last = try alice.send("for Bob", to: strict)
        try bob.sync()
        #expect(try bob.text(last) == "for Bob")
    }

    /// IDs that are equal as Swift strings name two devices, each with a trust of its own.
    @Test func devicesWhoseIdsOnlyLookAlikeAreTrustedApart() throws {
        let devices = try ["\u{e9}", "e\u{301}"].map { try join("@bob:s", $0) }
        try alice.turn { try $0.track(["@bob:s"], &$1) }
        try alice.pump()
        try alice.turn { try $0.setTrust(.blocked, of: devices[0].address, &$1) }
        let event = try alice.send("for one of them", to: room)
        for device in devices { try device.sync() }
        #expect(try devices[0].failure(event) == .withheld(code: "m.blacklisted"))
        #expect(try devices[1].text(event) == "for one of them")
        let trust = try devices.map { device in
            try alice.turn { machine, turn in
                let record: DeviceRecord? = try turn.records.value(scope: "@bob:s", key: device.address.device)
                return try machine.trust(of: #require(record), &turn).isBlocked
            }
        }
        #expect(trust == [true, false])
    }

    @Test func aServerThatDoesNotAnswerIsNotWaitedFor() throws {
        server.failures = ["t"]
        let members = RoomToEncrypt.room("@alice:s", "@bob:s", "@eve:t")
        let event = try alice.send("without Eve", to: members)
        try bob.sync()
        #expect(try bob.text(event) == "without Eve")
    }

    // MARK: Devices

    @Test(.rule("R14")) func aDeviceWhoseKeysChangeIsRefusedForEver() throws {
        _ = try alice.send("x", to: room)
        server.removeDevice(bob.address)
        let impostor = try TestDevice("@bob:s", "B", on: server)
        try alice.sync()
        #expect(alice.takeNotices().contains(.deviceKeysRefused(bob.address)))
        try impostor.encryptRoom("!r:s")
        let event = try alice.send("for the real one", to: room)
        try impostor.sync()
        #expect(try impostor.failure(event) != nil)
        let forged = try impostor.send("forged", to: room)
        try alice.sync()
        #expect(try alice.failure(forged) == .unknownSession)
    }

    @Test(.rule("R13")) func aChangeThatComesWhileAQueryIsOnItsWayWins() throws {
        try alice.turn { try $0.track(["@bob:s"], &$1) }
        let request = try #require(try alice.turn { try $0.requests(&$1) }.first)
        let old = try server.answer(request, from: alice.address)
        let second = try join("@bob:s", "B2")
        let change = server.sync(alice.address)
        try alice.turn { try $0.receive(change, &$1) }
        try alice.turn { try $0.answered(request.id, old, &$1) }
        let event = try alice.send("for both", to: room)
        try second.sync()
        #expect(try second.text(event) == "for both")
    }

    @Test func aKeyOfAnotherDeviceIsRefused() throws {
        _ = try alice.send("x", to: room)
        // Eve publishes Bob's identity key as her own.
        let eve = DeviceAddress("@eve:s", "E")
        server.addDevice(eve)
        let forged = try DeviceKeys(
            userID: "@eve:s", deviceID: "E", identityKey: bob.machine.account.curve25519.publicKey,
            fingerprint: Ed25519KeyPair(random: .system))
        try alice.turn { machine, turn in
            let isNew = try machine.take(forged, isListed: true, &turn)
            #expect(!isNew && turn.notices == [.deviceKeysRefused(eve)])
        }
    }

    @Test func otherKeysForThisDeviceAreAnAlarm() throws {
        let forged = try DeviceKeys(
            userID: "@alice:s", deviceID: "A", identityKey: Curve25519KeyPair(random: .system).publicKey,
            fingerprint: Ed25519KeyPair(random: .system))
        try alice.turn { machine, turn in
            try machine.take(forged, isListed: true, &turn)
            #expect(turn.notices == [.ownKeysReplaced])
        }
        #expect(try bob.text(try bob.send("x", to: room)) == "x")
    }

    /// Members that the server adds are not published.
    @Test func ourKeysAreAnnouncedAsSigned() throws {
        try alice.makeIdentity()
        let keys = try #require(server.devices[alice.address]?.keys)
        server.devices[alice.address]?.keys = object { writer in
            for (key, value) in keys.members { writer.add(key, value) }
            writer.add("unsigned", object { $0.add("device_display_name", "Alice's secret lair") })
        }
        server.noteChange(of: "@alice:s")
        try alice.sync()
        #expect(try alice.turn { try $0.devices(of: "@alice:s", &$1) }.first?.keys.displayName != nil)
        _ = try alice.send("x", to: room)
        try bob.sync()
        let announced = try #require(
            try bob.turn { try $1.records.value(DeviceRecord.self, scope: "@alice:s", key: "A") }
        ).keys
        #expect(announced.displayName == nil && announced.json["unsigned"] == nil)
        #expect(announced.json["signatures"]?["@alice:s"]?.members.count == 2)
    }

    // MARK: Channels out of step

    @Test func aLostChannelIsMadeAnew_onceAnHour() throws {
        _ = try alice.send("x", to: room)
        try bob.sync()
        _ = try bob.send("y", to: room)
        try alice.sync()
        // Bob loses the channel and cannot read what Alice sends over it.
        let key = alice.machine.account.curve25519.publicKey.base64
        try bob.turn { try $1.records.removeAll(.olmSession, scope: key) }
        try alice.turn { try $0.discardSession(of: "!r:s", &$1) }
        let lost = try alice.send("lost", to: room)
        try bob.sync()
        #expect(try bob.failure(lost) == .unknownSession)
        try alice.sync()  // m.dummy on the new channel
        let event = try alice.send("found", to: room)
        try bob.sync()
        #expect(try bob.text(event) == "found")

        try bob.turn { try $1.records.removeAll(.olmSession, scope: key) }
        let claims = server.requests.count { if case .claimKeys = $0.call { true } else { false } }
        try alice.turn { try $0.discardSession(of: "!r:s", &$1) }
        _ = try alice.send("again", to: room)
        try bob.sync()
        #expect(server.requests.count { if case .claimKeys = $0.call { true } else { false } } == claims)
        bob.now += 3_600_000
        try alice.turn { try $0.discardSession(of: "!r:s", &$1) }
        _ = try alice.send("again", to: room)
        try bob.sync()
        #expect(server.requests.count { if case .claimKeys = $0.call { true } else { false } } == claims + 1)
    }

    /// X25519 ignores the highest bit of a public key: with it set, the same message would seem to come from other
    /// keys, and a fallback key stays.
    @Test(.rule("R6")) func aMessageIsTakenOnce_howeverTheKeysThatOpenItAreWritten() throws {
        var account = OlmAccount(random: .system)
        let sender = OlmAccount(random: .system)
        account.replaceFallbackKey(random: .system)
        let fallbackKey = try #require(account.fallbackKey).publicKey
        var channel = try sender.outboundSession(
            identityKey: account.curve25519.publicKey, oneTimeKey: fallbackKey, random: .system)
        guard case .preKey(let bytes) = try channel.encrypt(SecretBytes(Array("x".utf8)), random: .system) else {
            Issue.record("it opens no channel")
            return
        }
        _ = try account.inboundSession(from: OlmPreKeyMessage(bytes), senderKey: sender.curve25519.publicKey)
        // The version, then three keys, each with a tag, a length and 32 bytes.
        for last in [34, 68, 102] {
            var again = bytes
            again[last] |= 0x80
            #expect(throws: EncryptionError.keyEncoding) { try OlmPreKeyMessage(again) }
        }
    }

    @Test(.rule("R6")) func aMessageToADeviceThatComesTwiceOpensNothing() throws {
        _ = try alice.send("x", to: room)
        let messages = server.messages(to: bob.address)
        try bob.sync()
        for message in messages { server.inject(message, to: bob.address) }
        let requests = server.requests.count
        try bob.sync()
        #expect(bob.takeNotices().contains(.dropped(type: "m.room.encrypted", sender: "@alice:s", .messageKey)))
        #expect(server.requests.count == requests)
    }

    @Test func whatWasToBeSentIsSentAfterACrash_withTheSameBytes() throws {
        _ = try alice.turn { try $0.prepare(room, hasWaited: false, &$1) }
        var sent: [CryptoRequest] = []
        for _ in 0..<4 where sent.isEmpty {
            for request in try alice.turn({ try $0.requests(&$1) }) {
                if case .sendToDevice = request.call {
                    sent.append(request)  // the answer is lost
                    _ = try server.answer(request, from: alice.address)
                } else {
                    let answer = try server.answer(request, from: alice.address)
                    try alice.turn { try $0.answered(request.id, answer, &$1) }
                }
            }
            if sent.isEmpty { _ = try alice.turn { try $0.prepare(room, hasWaited: false, &$1) } }
        }
        try alice.restart()
        let again = try alice.turn { try $0.requests(&$1) }.filter {
            if case .sendToDevice = $0.call { true } else { false }
        }
        #expect(again.map(\.call) == sent.map(\.call) && again.map(\.body) == sent.map(\.body))
        for request in again {
            let answer = try server.answer(request, from: alice.address)
            try alice.turn { try $0.answered(request.id, answer, &$1) }
        }
        let event = try alice.send("x", to: room)
        #expect(server.messages(to: bob.address).count == 1)
        try bob.sync()
        #expect(try bob.text(event) == "x")
    }
}
