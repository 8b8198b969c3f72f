import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Messages that anyone can send, and the limits on what is kept of them.
@Suite struct StrangerTests {
    private let server = KeyServer()
    private let (bob, eve): (TestDevice, TestDevice)

    init() throws {
        (bob, eve) = (try TestDevice("@bob:s", "B", on: server), try TestDevice("@eve:s", "E", on: server))
        try bob.encryptRoom("!r:s")
    }

    private func roomKey(_ roomId: String) -> JSONView {
        let session = OutboundGroupSession(random: .system)
        return object { writer in
            writer.add("algorithm", Algorithm.megolm)
            writer.add("room_id", roomId)
            writer.add("session_id", session.id)
            writer.add("session_key", UnpaddedBase64.encode(session.sessionKey))
        }
    }

    private func sessions() throws -> [String: Int] {
        let sessions = try bob.turn { try $0.exportSessions(&$1) }
        return Dictionary(grouping: sessions, by: \.roomID).mapValues(\.count)
    }

    @Test func sessionsOfUnknownRoomsAreAHundredOfADevice() throws {
        for number in 0..<130 { try eve.sendSecretly("m.room_key", roomKey("!\(number % 26):s"), to: bob) }
        try bob.sync()
        #expect(try sessions().values.reduce(0, +) == 100)
        for number in 0..<130 { try eve.sendSecretly("m.room_key", roomKey("!new\(number):s"), to: bob) }
        try bob.sync()
        var kept = try sessions()
        #expect(kept.values.reduce(0, +) == 100 && kept["!new129:s"] == 1 && kept["!new0:s"] == nil)
        #expect(try bob.turn { try $0.roomsWithSessions(&$1) }.count == 100)
        #expect(try bob.turn { try $0.sessionsToBackUp(&$1) } == 100)
        // Known rooms keep all of their sessions, and others still have space.
        try bob.encryptRoom("!new129:s")
        try bob.know("@eve:s")
        for number in 0..<120 {
            try eve.sendSecretly("m.room_key", roomKey(number < 60 ? "!new129:s" : "!late:s"), to: bob)
        }
        try bob.sync()
        kept = try sessions()
        #expect(kept["!new129:s"] == 61 && kept["!late:s"] == 60)
        #expect((151...161).contains(kept.values.reduce(0, +)))
    }

    @Test func messagesOfUnknownDevicesAreBoundedInBytes() throws {
        func payload(_ size: Int) -> JSONView {
            object { writer in
                writer.add("type", "m.x")
                writer.add("content", object { $0.add("text", String(repeating: "x", count: size)) })
                writer.add("sender", "@eve:s")
                writer.add("recipient", "@bob:s")
                let key = bob.machine.account.ed25519.publicKey.base64
                writer.add("recipient_keys", object { $0.add("ed25519", key) })
                writer.add("keys", object { $0.add("ed25519", key) })
            }
        }
        let key = Curve25519KeyPair(random: .system).publicKey
        try bob.turn { machine, turn in
            #expect(throws: EncryptionError.length) { try machine.receive(payload(70_000), from: "@eve:s", key, &turn) }
            for _ in 0..<6 { try machine.receive(payload(40_000), from: "@eve:s", key, &turn) }
            #expect(throws: EncryptionError.tooMany) {
                try machine.receive(payload(40_000), from: "@eve:s", key, &turn)
            }
            #expect(try turn.records.values(HeldMessageRecord.self, scope: "@eve:s").count == 6)
            try machine.releaseHeldMessages(of: "@eve:s", isFinal: true, &turn)
            try machine.receive(payload(40_000), from: "@eve:s", key, &turn)
        }
    }

    @Test func messagesOfUnknownDevicesAreBoundedOverAllUsers() throws {
        let key = Curve25519KeyPair(random: .system).publicKey
        try bob.turn { machine, turn in
            var refused = 0
            for number in 0..<150 {
                let user = "@u\(number):s"
                let payload = object { writer in
                    writer.add("type", "m.x")
                    writer.add("content", object { $0.add("text", "x") })
                    writer.add("sender", user)
                    writer.add("recipient", "@bob:s")
                    let key = machine.account.ed25519.publicKey.base64
                    writer.add("recipient_keys", object { $0.add("ed25519", key) })
                    writer.add("keys", object { $0.add("ed25519", key) })
                }
                do {
                    try machine.receive(payload, from: user, key, &turn)
                } catch EncryptionError.tooMany {
                    refused += 1
                }
            }
            #expect(refused == 50)
        }
    }

    @Test(.rule("R21")) func hintsOfOneUserDoNotCrowdOutOthers() throws {
        func hint(_ session: String) -> JSONView {
            object { writer in
                writer.add("algorithm", Algorithm.megolm)
                writer.add("room_id", "!r:s")
                writer.add("session_id", session)
                writer.add("code", "m.unverified")
            }
        }
        for number in 0..<150 { bob.inject("m.room_key.withheld", from: "@eve:s", hint("\(number)")) }
        bob.inject("m.room_key.withheld", from: "@" + String(repeating: "e", count: 1_000) + ":s", hint("long"))
        bob.inject("m.room_key.withheld", from: "@alice:s", hint("real"))
        try bob.sync()
        let kept = try bob.turn { try $1.records.values(WithheldRecord.self, scope: "!r:s") }
        #expect(kept.count == 101 && kept.contains { $0.key == "real" })
    }

    // MARK: Channels

    /// Sends a message from an unknown device.
    private func sendFromNowhere(_ account: OlmAccount, _ payload: JSONView) throws {
        let key = try #require(server.devices[bob.address]?.fallbackKey).key
        let signed = try SignedOneTimeKey(key, of: bob.machine.deviceKeys)
        var channel = try account.outboundSession(
            identityKey: bob.machine.deviceKeys.curve25519, oneTimeKey: signed.key, random: .system)
        let message = try channel.encrypt(SecretBytes(payload.compactText.utf8), random: .system)
        server.inject(encrypted(message, of: account), to: bob.address)
    }

    private func encrypted(_ message: OlmMessage, of account: OlmAccount) -> JSONView {
        let content = object { writer in
            writer.add("algorithm", Algorithm.olm)
            writer.add("sender_key", account.curve25519.publicKey.base64)
            writer.add(
                "ciphertext",
                object { boxes in
                    boxes.add(
                        bob.machine.deviceKeys.curve25519.base64,
                        object { box in
                            box.add("type", json: "\(message.type)")
                            box.add("body", message.body)
                        })
                })
        }
        return object { writer in
            writer.add("type", "m.room.encrypted")
            writer.add("sender", "@eve:s")
            writer.add("content", content)
        }
    }

    /// - Parameter device: The ID under which the device announces itself; `nil` for none.
    private func payload(of account: OlmAccount, device: String?, recipient: String = "@bob:s") throws -> JSONView {
        let keys = try device.map {
            try DeviceKeys(
                userID: "@eve:s", deviceID: $0, identityKey: account.curve25519.publicKey, fingerprint: account.ed25519)
        }
        return object { writer in
            writer.add("type", "m.x")
            writer.add("content", object { $0.add("text", "x") })
            writer.add("sender", "@eve:s")
            writer.add("recipient", recipient)
            writer.add(
                "recipient_keys", object { $0.add("ed25519", bob.machine.account.ed25519.publicKey.base64) })
            writer.add("keys", object { $0.add("ed25519", account.ed25519.publicKey.base64) })
            if let keys { writer.add("sender_device_keys", keys.json) }
        }
    }

    private func channels(with account: OlmAccount) throws -> Int {
        try bob.turn { try $0.channels(with: account.curve25519.publicKey, &$1) }.count
    }

    @Test func aChannelThatProvesNothingIsForgotten() throws {
        let accounts = (0..<3).map { _ in OlmAccount(random: .system) }
        try sendFromNowhere(accounts[0], payload(of: accounts[0], device: "E1", recipient: "@alice:s"))
        try sendFromNowhere(accounts[1], payload(of: accounts[1], device: nil))  // pending until its device is known
        try sendFromNowhere(accounts[2], payload(of: accounts[2], device: "E3"))
        let sync = server.sync(bob.address)
        try bob.turn { try $0.receive(sync, &$1) }
        #expect(try accounts.map(channels) == [0, 1, 1])
        try bob.pump()  // the device does not exist
        #expect(try accounts.map(channels) == [0, 0, 1])
    }

    /// The sender resends it with the next message until it gets an answer.
    @Test func aMessageThatIsRefusedForOurOwnBoundsIsAsIfItHadNeverCome() throws {
        let account = OlmAccount(random: .system)
        let key = try #require(server.devices[bob.address]?.oneTimeKeys.first?.key)
        let signed = try SignedOneTimeKey(key, of: bob.machine.deviceKeys)
        var channel = try account.outboundSession(
            identityKey: bob.machine.deviceKeys.curve25519, oneTimeKey: signed.key, random: .system)
        let filler = Curve25519KeyPair(random: .system).publicKey
        let payload = try payload(of: account, device: nil)
        let hold = { (machine: inout CryptoMachine, turn: inout CryptoTurn) in
            try machine.receive(payload, from: "@eve:s", filler, &turn)
        }
        try bob.turn { machine, turn in for _ in 0..<100 { try hold(&machine, &turn) } }
        let (first, second) = (
            try channel.encrypt(SecretBytes(payload.compactText.utf8), random: .system),
            try channel.encrypt(SecretBytes(payload.compactText.utf8), random: .system)
        )
        try bob.turn { try $0.receive(encrypted(first, of: account), &$1) }
        #expect(bob.dropped.last == .tooMany)
        #expect(try channels(with: account) == 0)
        try bob.turn { try $0.releaseHeldMessages(of: "@eve:s", isFinal: true, &$1) }
        bob.takeNotices()
        try bob.turn { try $0.receive(encrypted(second, of: account), &$1) }
        #expect(bob.dropped.isEmpty)
        #expect(try channels(with: account) == 1)
        // An unresponsive server proves nothing either.
        bob.now += 10_001
        try bob.turn { try $0.releaseHeldMessages(of: "@eve:s", isFinal: false, &$1) }
        #expect(bob.dropped == [.unknownDevice])
        #expect(try channels(with: account) == 1)
    }

    @Test func devicesThatNobodyListsAreAHundredOfAUser() throws {
        let accounts = (0..<110).map { _ in OlmAccount(random: .system) }
        for (number, account) in accounts.enumerated() {
            try sendFromNowhere(account, payload(of: account, device: "NEW\(number)"))
        }
        try bob.sync()
        let known = try bob.turn { try $1.records.values(DeviceRecord.self, scope: "@eve:s") }
        #expect(known.count { !$0.value.isListed } == 100)
        #expect(try accounts.map(channels).reduce(0, +) == 100)
        // Listed devices are still accepted.
        let account = OlmAccount(random: .system)
        server.addDevice(DeviceAddress("@eve:s", "LISTED"))
        server.devices[DeviceAddress("@eve:s", "LISTED")]?.keys = try DeviceKeys(
            userID: "@eve:s", deviceID: "LISTED", identityKey: account.curve25519.publicKey,
            fingerprint: account.ed25519
        ).json
        bob.takeNotices()
        try sendFromNowhere(account, payload(of: account, device: "LISTED"))
        try bob.sync()
        #expect(bob.notices.contains { if case .toDevice = $0 { true } else { false } })
    }

    // MARK: Room sessions

    private func receive(
        _ count: Int, of user: String, in roomId: String = "!r:s"
    ) throws -> [InboundSessionRecord] {
        let (key, fingerprint) = (
            Curve25519KeyPair(random: .system).publicKey, Ed25519KeyPair(random: .system).publicKey
        )
        let records = try (0..<count).map { _ in
            InboundSessionRecord(
                session: try InboundGroupSession(sessionKey: OutboundGroupSession(random: .system).sessionKey),
                user: user, device: "D", curve25519: key, ed25519: fingerprint, source: .direct, isSharedHistory: false)
        }
        for start in stride(from: 0, to: count, by: 50) {
            try bob.turn { machine, turn in
                for record in records[start..<min(start + 50, count)] { try machine.take(record, in: roomId, &turn) }
            }
        }
        return records
    }

    private func isKept(_ record: InboundSessionRecord, in roomId: String = "!r:s") throws -> Bool {
        try bob.session(record.session.id, in: roomId) != nil
    }

    /// A bot that makes a session for each message, delivering weeks of them at once.
    @Test func allThatAMemberHasSentMeanwhileIsKept() throws {
        try bob.know("@eve:s")
        for _ in 0..<620 { try eve.sendSecretly("m.room_key", roomKey("!r:s"), to: bob) }
        try bob.sync()
        #expect(try sessions() == ["!r:s": 620])
    }

    @Test func aMemberHasTenThousandSessionsOfARoom_andTheOldestThatNobodyHasUsedGiveWay() throws {
        try bob.know("@eve:s", "@alice:s")
        let other = try receive(1, of: "@alice:s")[0]
        let first = try receive(3, of: "@eve:s")
        try bob.turn { _, turn in
            let used = MessageIndexRecord(eventId: "$used", time: 1)
            turn.records.set(used, scope: "!r:s\n" + first[0].session.id, key: "0")
        }
        let rest = try receive(9_997, of: "@eve:s")
        #expect(try (first + rest).allSatisfy { try isKept($0) })
        let last = try receive(1, of: "@eve:s")[0]
        #expect(try isKept(other) && isKept(first[0]) && isKept(last) && isKept(#require(rest.last)))
        #expect(try !isKept(first[1]) && !isKept(first[2]))
        #expect(try sessions()["!r:s"] ?? 0 <= 10_001)
    }

    /// An attacker who shares no room with us, under any number of names.
    @Test func sessionsOfUsersWhoAreInNoRoomAreBoundedInBytes() throws {
        try bob.know("@alice:s")
        let known = try receive(1, of: "@alice:s")[0]
        let first = try receive(1, of: "@eve:s")[0]
        let records = try (0..<900).flatMap { try receive(10, of: "@e\($0):s") }
        #expect(try isKept(known) && isKept(#require(records.last)))
        #expect(try !isKept(first) && !isKept(records[0]))
        let kept = try records.filter { try isKept($0) }
        #expect((2_000...8_000).contains(kept.count), "\(kept.count)")
        // The limit is lower for a single user.
        let flood = try receive(1_100, of: "@flood:s")
        #expect((900...1_000).contains(try flood.count { try isKept($0) }))
        #expect(try isKept(#require(flood.last)) && isKept(#require(records.last)))
    }

    /// A new member's first key arrives before the event that announces the member.
    @Test func sessionsOfAUserWhoTurnsOutToBeAMemberAreKept() throws {
        let early = try receive(1, of: "@eve:s")[0]
        try bob.know("@eve:s")
        for number in 0..<810 { _ = try receive(10, of: "@e\(number):s") }
        #expect(try isKept(early))
    }

    // MARK: Unencrypted parts

    @Test(.rule("R38")) func aClearMessageInAnEncryptedRoomIsMarked() throws {
        func shield(_ type: String, isState: Bool = false, in roomId: String) throws -> MessageShield {
            try bob.turn { try $0.shield(clear: type, isState: isState, roomId: roomId, &$1) }
        }
        #expect(try shield("m.room.message", in: "!r:s") == .sentInClear)
        #expect(try shield("m.sticker", in: "!r:s").isWarning)
        #expect(try shield("m.room.message", in: "!clear:s") == .none)
        #expect(try shield("m.room.topic", isState: true, in: "!r:s") == .none)
        for type in ["m.reaction", "m.room.redaction"] { #expect(try shield(type, in: "!r:s") == .none) }
        // Encryption is never turned off again.
        try bob.encryptRoom("!r:s", "{}")
        try bob.restart()
        #expect(try shield("m.room.message", in: "!r:s") == .sentInClear)
    }

    @Test(.rule("R15")) func whatIsSentHasNoClearText() throws {
        let text = "nobody-else-reads-this"
        let content = object { writer in
            writer.add("body", text)
            writer.add("filename", text + ".png")
            writer.add("info", object { $0.add("thumbnail_file", object { $0.add("url", "mxc://s/" + text) }) })
            writer.add("m.relates_to", object { $0.add("event_id", "$e") })
        }
        let event = try bob.send("", to: .room("@bob:s", "@eve:s"), content: content)
        #expect(!event.content.compactText.contains(text))
        #expect(!server.requests.contains { $0.body.contains(text) })
        let unknown = RoomToEncrypt(roomId: "!unknown:s", members: ["@bob:s"], isSharedHistory: false)
        #expect(throws: SharingError.encryption(.missingField)) { try bob.send(text, to: unknown) }
        #expect(throws: EncryptionError.noSession) {
            try bob.turn { try $0.encrypt("m.room.message", content, for: "!unknown:s", &$1) }
        }
    }

    @Test(.rule("R18")) func twoSendsAtOnceHaveTwoIndices() throws {
        let first = try bob.send("1", to: .room("@bob:s"))
        let both = try bob.turn { machine, turn in
            try ["2", "3"].map { text in
                try machine.encrypt("m.room.message", object { $0.add("body", text) }, for: "!r:s", &turn)
            }
        }
        let indices = try ([first.content] + both).map {
            try MegolmMessage(UnpaddedBase64.decode($0.text("ciphertext"))).index
        }
        #expect(indices == [0, 1, 2])
    }

    /// Only a server with other keys under the same IDs means that the store is outdated.
    @Test func aServerThatHasOtherKeysIsGivenNoMore_andOneThatRefusesIsAskedAgain() throws {
        func uploadFails(_ code: String) throws -> Int {
            let before = bob.notices.count { $0 == .oneTimeKeysRefused }
            server.loseKeys(of: bob.address)
            let sync = server.sync(bob.address)
            try bob.turn { try $0.receive(sync, &$1) }
            var uploads = 0
            for _ in 0..<3 {
                bob.now += 600_001
                for request in try bob.turn({ try $0.requests(&$1) }) where request.call == .uploadKeys {
                    uploads += 1
                    try bob.turn { try $0.failed(request.id, isFinal: true, code: code, &$1) }
                }
            }
            #expect(bob.notices.count { $0 == .oneTimeKeysRefused } - before == (code == "M_UNKNOWN" ? 1 : 0))
            return uploads
        }
        #expect(try uploadFails("M_FORBIDDEN") == 3)
        #expect(try uploadFails("M_UNKNOWN") == 1)
        #expect(try uploadFails("M_FORBIDDEN") == 0)
    }

    /// A server that claims to have kept none of the keys, or does not report a count, does not get new ones at once.
    @Test(arguments: [#"{"one_time_key_counts":{"signed_curve25519":0}}"#, "{}"])
    func aServerThatKeepsNoKeysIsNotGivenThemWithoutEnd(answer: String) throws {
        let alice = try TestDevice("@alice:s", "A", on: server)
        let lie = try #require(JSONView(Array(answer.utf8)))
        server.tamper = { request, answer in
            if case .uploadKeys = request.call { lie } else { answer }
        }
        func uploads() -> Int { server.requests.count { if case .uploadKeys = $0.call { true } else { false } } }
        let before = uploads()
        server.loseKeys(of: alice.address)
        try alice.sync()
        #expect(uploads() == before + 1)
        // Uploads are retried at growing intervals.
        for _ in 0..<20 {
            alice.now += 15_001
            server.loseKeys(of: alice.address)
            try alice.sync()
        }
        #expect((before + 2...before + 8).contains(uploads()), "\(uploads() - before)")
    }
}
