import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// What anybody may send, and how much of it is kept.
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
        // Rooms that are known have what they need, and others have their place.
        try bob.encryptRoom("!new129:s")
        for number in 0..<120 {
            try eve.sendSecretly("m.room_key", roomKey(number < 60 ? "!new129:s" : "!late:s"), to: bob)
        }
        try bob.sync()
        kept = try sessions()
        #expect(kept["!new129:s"] == 61 && kept["!late:s"] == 60 && kept.values.reduce(0, +) == 161)
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

    // MARK: What is said in clear

    @Test(.rule("R38")) func aClearMessageInAnEncryptedRoomIsMarked() throws {
        func shield(_ type: String, isState: Bool = false, in roomId: String) throws -> MessageShield {
            try bob.turn { try $0.shield(clear: type, isState: isState, roomId: roomId, &$1) }
        }
        #expect(try shield("m.room.message", in: "!r:s") == .sentInClear)
        #expect(try shield("m.sticker", in: "!r:s").isWarning)
        #expect(try shield("m.room.message", in: "!clear:s") == .none)
        #expect(try shield("m.room.topic", isState: true, in: "!r:s") == .none)
        for type in ["m.reaction", "m.room.redaction"] { #expect(try shield(type, in: "!r:s") == .none) }
        // Never off again.
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

    /// A server that says it has kept none of the keys, or does not say, is not given new ones at once.
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
        // It is tried again, ever more rarely.
        for _ in 0..<20 {
            alice.now += 15_001
            server.loseKeys(of: alice.address)
            try alice.sync()
        }
        #expect((before + 2...before + 8).contains(uploads()), "\(uploads() - before)")
    }
}
