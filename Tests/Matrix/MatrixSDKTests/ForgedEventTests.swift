import Basics
import EncryptionTestSupport
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Attacks of a homeserver on events of rooms and messages to devices, and how the whole client reacts.
@Suite(.overSockets)
struct ForgedEventTests {
    // MARK: Events of rooms

    @Test(.rule("R19", "R37")) func anEventThatTheServerCopiesIsNotShown() async throws {
        let scene = try await EncryptedScene()
        let real = try await scene.bobSays("only once")
        let copies = try scene.home.with { world in
            for user in ["@a:s", "@e:s"] { world.setMember(user, in: "!other:s") }
            world.setEncryption(in: "!other:s")
            world.setMember("@e:s")
            return [
                world.tell(real, id: "$again"), world.tell(real, from: "@e:s", id: "$spoken"),
                world.tell(real, in: "!other:s", id: "$elsewhere"), world.tell(real, id: "$state", stateKey: ""),
            ]
        }
        let causes: [MXDecryptionError] = [.replay, .senderMismatch, .unknownSession, .forbiddenContent]
        for (id, cause) in zip(copies, causes) { #expect(await scene.hears(id, cause), "\(id)") }
        // The event is delivered once, and stays readable.
        try scene.home.with { world in _ = world.tell(real) }
        try await scene.isUpToDate()
        #expect(try scene.room.storedEvent(real.eventId)?.body == "only once")
        for id in copies { #expect(try scene.room.storedEvent(id)?.body == nil) }
    }

    /// The server sends the copy before the real event; only one of them is shown.
    @Test(.rule("R37")) func ofAnEventAndItsCopyOneIsShown() async throws {
        let scene = try await EncryptedScene()
        let real = try scene.home.with { world in try world.say("once", by: world.bob) }
        try scene.home.with { world in
            world.tell(real, id: "$copy")
            world.tell(real)
        }
        #expect(await scene.hears("$copy", "once"))
        #expect(await scene.hears(real.eventId, .replay))
    }

    @Test(.rule("R20")) func eventsThatComeBeforeTheirKeysAreReadInThePlace() async throws {
        let scene = try await EncryptedScene()
        let client = LyingHomeserver.client
        let (first, second, keys) = try scene.home.with { world in
            let first = try world.say("first", by: world.bob)
            let second = try world.say("second", by: world.bob)
            let keys = world.keys.messages(to: client)
            world.keys.devices[client]?.messages = []
            for event in [second, first] { world.tell(event) }
            return (first, second, keys)
        }
        for event in [first, second] { #expect(await scene.hears(event.eventId, .unknownSession)) }
        try scene.home.with { world in for key in keys.reversed() { world.keys.inject(key, to: client) } }
        #expect(await scene.hears(first.eventId, "first"))
        #expect(await scene.hears(second.eventId, "second"))
        #expect(try scene.room.storedEvent(second.eventId)?.body == "second")
    }

    // MARK: Denied encryption

    // MARK: Denied encryption

    @Test(.rule("R15", "R38")) func aRoomWhoseEncryptionTheServerTakesBackStaysEncrypted() async throws {
        let scene = try await EncryptedScene()
        #expect(try scene.readsOwn(try await scene.room.sendTextMessage("one"), "one"))
        try scene.home.with { $0.setEncryption(object { _ in }) }
        try await scene.isUpToDate()
        #expect(try scene.readsOwn(try await scene.room.sendTextMessage("two-secret"), "two-secret"))
        // Everything starts over, and the server no longer mentions encryption.
        try scene.home.with { world in
            world.hiddenState = ["m.room.encryption"]
            world.stream += 1
        }
        let clear = try scene.home.with { world in
            world.tell("m.room.message", from: "@b:s", object { $0.add("body", "in clear") })
        }
        // Events of a first answer are not news: listeners do not receive them.
        #expect(await eventually { (try? scene.room.storedEvent(clear)) != nil })
        try await scene.isUpToDate()
        #expect(try scene.crypto.isRoomEncrypted("!r:s"))
        #expect(try scene.readsOwn(try await scene.room.sendTextMessage("three-secret"), "three-secret"))
        let stored = try #require(try scene.room.storedEvent(clear))
        #expect(try scene.crypto.shield(of: stored) == .sentInClear)
        for text in ["two-secret", "three-secret"] { #expect(!scene.hasLeaked(text)) }
    }

    // MARK: Edits and replies

    @Test func editsOfOthersAndInClearChangeNothing() async throws {
        let scene = try await EncryptedScene()
        let real = try await scene.bobSays("what Bob said")
        let relation = object { writer in
            writer.add("rel_type", "m.replace")
            writer.add("event_id", real.eventId)
        }
        let edit = object { writer in
            writer.add("msgtype", "m.text")
            writer.add("body", "forged")
            writer.add("m.new_content", object { $0.add("body", "forged") })
            writer.add("m.relates_to", relation)
        }
        let ids = try scene.home.with { world in
            world.setMember("@e:s")
            let byEve = try world.say("", by: world.eve, to: ["@a:s", "@b:s", "@e:s"], content: edit)
            return [
                world.tell(byEve), world.tell(byEve, from: "@b:s", id: "$as-bob"),
                world.tell("m.room.message", from: "@b:s", edit, id: "$clear"),
            ]
        }
        #expect(await scene.hears(ids[0], "forged"))
        #expect(await scene.hears(ids[1], .senderMismatch))
        #expect(await scene.hears(ids[2]))
        // And a bundled one.
        let bundle = object { writer in
            writer.add(
                "m.relations",
                object { $0.add("m.replace", world(edit, id: "$bundled")) })
        }
        try scene.home.with { world in
            _ = world.tell("m.room.encrypted", from: "@b:s", real.content, id: real.eventId, unsigned: bundle)
        }
        try await scene.isUpToDate()
        let event = try #require(try scene.room.storedEvent(real.eventId))
        #expect(try scene.room.edited(event).body == "what Bob said")
        #expect(try scene.crypto.shield(of: #require(scene.heard("$clear"))) == .sentInClear)
    }

    private func world(_ content: JSONView, id: String) -> JSONView {
        object { writer in
            writer.add("type", "m.room.message")
            writer.add("event_id", id)
            writer.add("sender", "@b:s")
            writer.add("origin_server_ts", json: "1800000000000")
            writer.add("content", content)
        }
    }

    /// A reply names the event that it answers; the quotation is only its sender's claim.
    @Test func aReplyThatQuotesSomebodyShowsNothingOfTheQuotation() async throws {
        let scene = try await EncryptedScene()
        let real = try await scene.bobSays("what Bob said")
        let reply = object { writer in
            writer.add("msgtype", "m.text")
            writer.add("body", "> <@b:s> I owe you a thousand\n\nYou said so")
            writer.add(
                "m.relates_to",
                object { $0.add("m.in_reply_to", object { $0.add("event_id", real.eventId) }) })
        }
        let event = try scene.home.with { world in
            world.setMember("@e:s")
            let event = try world.say("", by: world.eve, to: ["@a:s", "@b:s", "@e:s"], content: reply)
            world.tell(event)
            return event
        }
        #expect(await scene.hears(event.eventId, "You said so"))
        #expect(scene.heard(event.eventId)?.replyToEventId == real.eventId)
    }

    // MARK: Messages to devices

    @Test(.rule("R22", "R33")) func keysThatDoNotComeOverTheirOwnersChannelAreDropped() async throws {
        let scene = try await EncryptedScene()
        _ = try await scene.bobSays("hello")
        let client = LyingHomeserver.client
        let (inClear, stolen) = try scene.home.with { world in
            // Unencrypted, as a forward, and inside a message of the room.
            let session = OutboundGroupSession(random: .system)
            let key = object { writer in
                writer.add("algorithm", Algorithm.megolm)
                writer.add("room_id", "!r:s")
                writer.add("session_id", session.id)
                writer.add("session_key", UnpaddedBase64.encode(session.sessionKey))
            }
            for type in ["m.room_key", "m.forwarded_room_key"] {
                world.keys.inject(message(type, "@b:s", key), to: client)
            }
            let inside = try world.bob.send(
                "", to: RoomToEncrypt.room("@a:s", "@b:s"), type: "m.room_key", content: key)
            world.keys.inject(message("m.room.encrypted", "@b:s", inside.content), to: client)
            // Eve's key, presented as Bob's.
            let event = try world.say("x", by: world.eve)
            let messages = world.keys.messages(to: client)
            world.keys.devices[client]?.messages = messages.map { old in
                old["sender"]?.string == "@e:s" ? message("m.room.encrypted", "@b:s", old["content"] ?? .nothing) : old
            }
            world.tell(event, from: "@b:s")
            var content = event.content
            content = content.with(["session_id"], object { $0.add("s", session.id) }["s"])
            return (world.tell("m.room.encrypted", from: "@b:s", content), event.eventId)
        }
        #expect(await scene.hears(inClear, .unknownSession))
        #expect(await scene.hears(stolen, .unknownSession))
        #expect(await eventually { scene.log.contains("a message to this device was dropped") })
    }

    private func message(_ type: String, _ sender: String, _ content: JSONView) -> JSONView {
        object { writer in
            writer.add("type", type)
            writer.add("sender", sender)
            writer.add("content", content)
        }
    }

    @Test(.rule("R21")) func forgedRefusalsExplainAndLoseNothing() async throws {
        let scene = try await EncryptedScene()
        let client = LyingHomeserver.client
        let (event, keys) = try scene.home.with { world in
            let event = try world.say("read in the end", by: world.bob)
            let keys = world.keys.messages(to: client)
            let refusal = object { writer in
                writer.add("algorithm", Algorithm.megolm)
                writer.add("room_id", "!r:s")
                writer.add("session_id", event.content["session_id"] ?? .nothing)
                writer.add("sender_key", event.content["sender_key"] ?? .nothing)
                writer.add("code", "m.blacklisted")
            }
            let channel = refusal.with(["code"], .string("m.no_olm")).with(["session_id"], nil)
            world.keys.devices[client]?.messages = [message("m.room_key.withheld", "@b:s", refusal)]
            for _ in 0..<200 { world.keys.inject(message("m.room_key.withheld", "@b:s", channel), to: client) }
            world.tell(event)
            return (event, keys)
        }
        #expect(await scene.hears(event.eventId, .withheld(code: "m.blacklisted")))
        try await scene.isUpToDate()
        // One new channel at most, whatever arrives.
        #expect(scene.home.server.requests("POST", "v3/keys/claim").count <= 1)
        try scene.home.with { world in for key in keys { world.keys.inject(key, to: client) } }
        #expect(await scene.hears(event.eventId, "read in the end"))
    }

    @Test func aFloodOfMessagesHidesNoKey_andFillsNothing() async throws {
        let scene = try await EncryptedScene()
        let client = LyingHomeserver.client
        let event = try scene.home.with { world in
            for number in 0..<3_000 {
                let sender = "@u\(number % 400):s"
                let junk = object { writer in
                    writer.add("algorithm", number % 2 == 0 ? Algorithm.olm : Algorithm.megolm)
                    writer.add("sender_key", "\(number)")
                    writer.add("room_id", "!r:s")
                    writer.add("session_id", "\(number)")
                    writer.add("code", "m.unverified")
                    writer.add("request_id", "\(number)")
                    writer.add("requesting_device_id", "D\(number)")
                    writer.add("action", "request")
                    writer.add("name", "m.cross_signing.master")
                    writer.add("from_device", "D")
                    writer.add("transaction_id", "\(number)")
                    writer.add("ciphertext", object { $0.add("k", object { $0.add("body", "x") }) })
                }
                let types = [
                    "m.room.encrypted", "m.room_key.withheld", "m.secret.request", "m.room_key_request",
                    "m.key.verification.start", "m.key.verification.key",
                ]
                world.keys.inject(message(types[number % types.count], sender, junk), to: client)
            }
            let event = try world.say("still read", by: world.bob)
            world.tell(event)
            return event
        }
        #expect(await scene.hears(event.eventId, "still read"))
        let id = try await scene.room.sendTextMessage("still sent")
        #expect(try scene.reads(id) { $0.bob } == "still sent")
        #expect(!scene.hasLeaked("still sent"))
        // Only verifications were answered: requests for secrets got no answer.
        #expect(scene.home.server.requests("PUT", "v3/sendToDevice/m.secret.send/*").isEmpty)
    }

    // MARK: The backup

    @Test(.rule("R34")) func toABackupOfTheServersMakingNothingIsWritten() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let backup = try scene.crypto.backup
        let version = try await backup.createKeyBackupVersion()
        // Another key under the old signatures.
        try scene.home.with { world in
            let old = try #require(world.keys.backups.versions.last?.content)
            let key = Curve25519KeyPair(random: .system).publicKey.base64
            world.keys.backups.add(old.with(["auth_data", "public_key"], .string(key)))
        }
        try await backup.refreshState()
        #expect(backup.state == .notTrusted(version: "2"))
        _ = try await scene.bobSays("not for the backup")
        await #expect(throws: MatrixError.self) { try await backup.backupAllGroupSessions() }
        #expect(
            scene.home.server.requests("PUT", "v3/room_keys/keys").allSatisfy { $0.parameter("version") == version })
        #expect(try scene.home.with { world in world.keys.backups.versions.last?.count } == 0)
    }
}

extension EncryptedScene {
    /// Whether Bob can read the sent message.
    fileprivate func readsOwn(_ id: String, _ text: String) throws -> Bool { try reads(id) { $0.bob } == text }
}
