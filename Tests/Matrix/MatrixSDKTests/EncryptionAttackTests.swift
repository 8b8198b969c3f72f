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

/// Attacks of a homeserver on keys, devices and identities, and how the whole client reacts.
@Suite(.overSockets)
struct EncryptionAttackTests {
    private let bob: @Sendable (LyingHomeserver.World) -> TestDevice = { $0.bob }
    private let eve: @Sendable (LyingHomeserver.World) -> TestDevice = { $0.eve }

    // MARK: Devices

    @Test(.rule("R14", "R15")) func swappedKeysOfADeviceGetNothing_andAreTold() async throws {
        let scene = try await EncryptedScene()
        let first = try await scene.room.sendTextMessage("before")
        #expect(try scene.reads(first, bob) == "before")
        let impostor = try scene.home.with { world in
            let impostor = try TestDevice("@b:s", "BOB", on: KeyServer())
            world.keys.devices[world.bob.address]?.keys = impostor.machine.deviceKeys.json
            world.keys.noteChange(of: "@b:s")
            return impostor.machine.deviceKeys.curve25519.base64
        }
        #expect(
            await eventually {
                (try? scene.crypto.device(withDeviceId: "BOB", ofUser: "@b:s"))?.hasRefusedKeys == true
            })
        #expect(await eventually { scene.log.contains("names other keys for a device") })
        try scene.crypto.discardOutboundGroupSessionForRoom(withRoomId: "!r:s")
        let second = try await scene.room.sendTextMessage("a-secret-after")
        #expect(try scene.reads(second, bob) == "a-secret-after")
        #expect(!scene.hasLeaked(impostor) && !scene.hasLeaked("a-secret-after"))
    }

    @Test(.rule("R32")) func aDeviceThatTheServerAddsGetsNoKey_andWhatItSaysIsMarked() async throws {
        let scene = try await EncryptedScene()
        #expect(try scene.reads(try await scene.room.sendTextMessage("before"), bob) == "before")
        try scene.home.with { world in _ = try TestDevice("@b:s", "GHOST", on: world.keys) }
        #expect(await eventually { (try? scene.crypto.device(withDeviceId: "GHOST", ofUser: "@b:s")) != nil })
        let id = try await scene.room.sendTextMessage("not-for-ghosts")
        #expect(try scene.reads(id, bob) == "not-for-ghosts")
        let ghost = try #require(try scene.crypto.device(withDeviceId: "GHOST", ofUser: "@b:s"))
        #expect(!ghost.isCrossSigned && !scene.hasLeaked("not-for-ghosts"))
        #expect(!scene.hasLeaked(ghost.identityKey))
        let address = DeviceAddress("@b:s", "GHOST")
        #expect(await eventually { scene.home.types(to: address) == ["m.room_key.withheld"] })
    }

    @Test(.rule("R32")) func whatAnAddedDeviceSaysIsRed() async throws {
        let scene = try await EncryptedScene()
        let event = try scene.home.with { world in
            let ghost = try TestDevice("@b:s", "GHOST", on: world.keys)
            try ghost.encryptRoom("!r:s")
            let event = try world.say("I am Bob", by: ghost)
            world.tell(event)
            return event
        }
        #expect(await scene.hears(event.eventId, "I am Bob"))
        let heard = try #require(scene.heard(event.eventId))
        #expect(try scene.crypto.shield(of: heard) == .unsignedDevice)
    }

    /// Otherwise a client that never sends would not learn of changes.
    @Test func membersAreKnownBeforeAnythingIsSent() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            try world.eve.makeIdentity()
            world.setMember("@e:s")
        }
        for user in ["@b:s", "@e:s"] {
            #expect(await eventually { (try? scene.crypto.trustLevel(forUser: user))?.hasIdentity == true })
        }
        #expect(scene.home.server.requests("POST", "v3/keys/claim").isEmpty)
    }

    @Test(.rule("R32")) func aDeviceAddedToAVerifiedUserStopsSending() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        #expect(try scene.reads(try await scene.room.sendTextMessage("first"), bob) == "first")
        try scene.home.with { world in _ = try TestDevice("@b:s", "GHOST", on: world.keys) }
        #expect(await eventually { (try? scene.crypto.device(withDeviceId: "GHOST", ofUser: "@b:s")) != nil })
        await #expect { try await scene.room.sendTextMessage("withheld-text") } throws: {
            ($0 as? MatrixError)?.code == .identityChanged
        }
        #expect(!scene.hasLeaked("withheld-text"))
    }

    /// The server claims that a user joined without an invitation.
    @Test(.rule("R16", "R32")) func aUserThatTheServerAddsIsTold_andReadsNothingFromBefore() async throws {
        let scene = try await EncryptedScene()
        let before = try await scene.room.sendTextMessage("before Eve")
        #expect(try scene.reads(before, bob) == "before Eve")
        try scene.home.with { $0.setMember("@e:s") }
        #expect(await scene.hears(try scene.home.with { $0.events.last?.json["event_id"]?.string ?? "" }))
        let after = try await scene.room.sendTextMessage("with Eve")
        #expect(try scene.reads(after, eve) == "with Eve")
        #expect(try scene.reads(before, eve) == nil)
        try scene.home.with { $0.setMember("@e:s", "leave") }
        try await scene.isUpToDate()
        let last = try await scene.room.sendTextMessage("without Eve")
        #expect(try scene.reads(last, eve) == nil)
        #expect(try scene.reads(last, bob) == "without Eve")
    }

    /// Servers do not report devices of users without a shared room, and an invitation does not change that.
    @Test(.rule("R16")) func whoIsInvitedAgainIsAskedForHisDevicesAnew() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { $0.setMember("@e:s", "invite") }
        try await scene.isUpToDate()
        #expect(try scene.reads(try await scene.room.sendTextMessage("first"), eve) == "first")
        let new = DeviceAddress("@e:s", "EVE2")
        try scene.home.with { world in
            world.setMember("@e:s", "leave")
            world.tellsChanges = false
            world.keys.removeDevice(world.eve.address)
            _ = try TestDevice(new.user, new.device, on: world.keys)
        }
        try await scene.isUpToDate()
        try scene.home.with { $0.setMember("@e:s", "invite") }
        try await scene.isUpToDate()
        _ = try await scene.room.sendTextMessage("second")
        #expect(
            await eventually {
                (try? scene.home.with { world in
                    world.keys.messages(to: new).contains { $0["type"]?.string == "m.room.encrypted" }
                }) == true
            })
    }

    /// One answer reports both: the list of members is unchanged.
    @Test(.rule("R16")) func whoLeavesAndComesBackGetsAnotherKey() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { $0.setMember("@e:s") }
        try await scene.isUpToDate()
        let first = try await scene.room.sendTextMessage("first")
        #expect(try scene.reads(first, eve) == "first")
        try scene.home.with { world in
            world.setMember("@e:s", "leave")
            world.setMember("@e:s")
        }
        try await scene.isUpToDate()
        let second = try await scene.room.sendTextMessage("second")
        #expect(try scene.reads(second, eve) == "second")
        let sessions = try scene.home.with { world in
            [first, second].map { world.encrypted($0)?.content["session_id"]?.string }
        }
        #expect(sessions[0] != nil && sessions[0] != sessions[1])
    }

    /// The answer has a gap, and only reports Eve's current membership.
    @Test(.rule("R16"), arguments: ["leave", "invite"])
    func whoIsNoMemberAfterAGapReadsNoMoreOfTheSession(membership: String) async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { $0.setMember("@e:s") }
        try await scene.isUpToDate()
        let first = try await scene.room.sendTextMessage("first")
        #expect(try scene.reads(first, eve) == "first")
        try scene.home.with { world in
            world.cutsTimelines = true
            world.setMember("@e:s", "leave")
            if membership == "invite" { world.setMember("@e:s", "invite") }
            world.tell("m.room.message", from: "@b:s", object { $0.add("body", "after the gap") }, id: "$after")
        }
        #expect(await scene.hears("$after"))
        let second = try await scene.room.sendTextMessage("second")
        let sessions = try scene.home.with { world in
            [first, second].map { world.encrypted($0)?.content["session_id"]?.string }
        }
        #expect(sessions[0] != nil && sessions[0] != sessions[1])
    }

    /// Their IDs do not reveal their order.
    @Test func eventsThatHaveWaitedForAKeyAreReadInTheirOrder() async throws {
        let scene = try await EncryptedScene()
        let read = Lock<[String]>([])
        let listener = scene.session.listenToEvents { event, _, _ in
            if event.isDecrypted { read.withLock { $0.append(event.eventId) } }
        }
        let ids = ["$c", "$a", "$d", "$b"]
        let keys = try scene.home.with { world in
            var keys: [JSONView] = []
            for id in ids {
                let event = try world.say(id, by: world.bob)
                keys += world.keys.messages(to: LyingHomeserver.client)
                world.keys.devices[LyingHomeserver.client]?.messages = []
                world.tell(event, id: id)
            }
            return keys
        }
        #expect(await scene.hears("$b", .unknownSession))
        try scene.home.with { world in for key in keys { world.keys.inject(key, to: LyingHomeserver.client) } }
        #expect(await eventually { read.withLock { $0.count } == 4 })
        #expect(read.withLock { $0 } == ids)
        scene.session.removeListener(listener)
    }

    /// No recipient could read the message.
    @Test func aMessageWhoseKeysTheServerDoesNotTakeIsNotSent() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { $0.toDeviceRefusal = "M_FORBIDDEN" }
        await #expect(throws: MatrixError.self) { try await scene.room.sendTextMessage("for nobody") }
        #expect(
            try scene.home.with { world in !world.events.contains { $0.json["type"]?.string == "m.room.encrypted" } })
    }

    /// A room that was created here is known before its settings are.
    @Test func whatARoomSaysOfItsKeysStaysWhenItIsNotedOnceMore() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            world.setEncryption(
                object { writer in
                    writer.add("algorithm", Algorithm.megolm)
                    writer.add("rotation_period_msgs", json: "1")
                })
        }
        try await scene.isUpToDate()
        try scene.session.noteEncryption(of: "!r:s", nil)
        let ids = [try await scene.room.sendTextMessage("1"), try await scene.room.sendTextMessage("2")]
        let sessions = try scene.home.with { world in
            ids.map { world.encrypted($0)?.content["session_id"]?.string }
        }
        #expect(sessions[0] != nil && sessions[0] != sessions[1])
    }

    /// A limited answer omitted the invitation, which is found in the list of members.
    @Test(.rule("R16")) func whoIsInvitedAgainUnseenGetsKeysForPresentDevices() async throws {
        let scene = try await EncryptedScene()
        let new = DeviceAddress("@e:s", "EVE2")
        try scene.home.with { $0.setMember("@e:s", "invite") }
        try await scene.isUpToDate()
        _ = try await scene.room.sendTextMessage("first")
        try scene.home.with { world in
            world.tellsChanges = false
            world.keys.removeDevice(world.eve.address)
            _ = try TestDevice(new.user, new.device, on: world.keys)
            world.cutsTimelines = true
            world.setMember("@e:s", "leave")
            world.setMember("@e:s", "invite")
            world.tell("m.room.message", from: "@b:s", object { $0.add("body", "after the gap") }, id: "$after")
        }
        #expect(await scene.hears("$after"))
        _ = try await scene.room.sendTextMessage("second")
        #expect(try scene.crypto.devices(forUser: new.user).map(\.deviceId) == ["EVE2"])
        #expect(scene.home.types(to: new) == ["m.room.encrypted"])
    }

    /// The server hides the existence of another device.
    @Test func aDeviceThatTheServerHidesIsKnownByWhatItSays_andMarked() async throws {
        let scene = try await EncryptedScene()
        _ = try await scene.bobSays("hello")
        try scene.home.with { world in
            world.tellsChanges = false
            world.keys.tamper = { request, answer in
                guard case .queryKeys = request.call else { return answer }
                return answer.with(["device_keys", "@b:s", "GHOST"], nil)
            }
        }
        let event = try scene.home.with { world in
            let ghost = try TestDevice("@b:s", "GHOST", on: world.keys)
            try ghost.encryptRoom("!r:s")
            let event = try world.say("hidden", by: ghost)
            world.tell(event)
            return event
        }
        #expect(await scene.hears(event.eventId, "hidden"))
        let heard = try #require(scene.heard(event.eventId))
        #expect(try scene.crypto.shield(of: heard) == .unsignedDevice)
        // Only the device itself has named it, so it gets no key.
        let id = try await scene.room.sendTextMessage("answer")
        #expect(try scene.reads(id, bob) == "answer")
        #expect(
            try scene.home.with { world in world.keys.messages(to: DeviceAddress("@b:s", "GHOST")).isEmpty })
    }

    // MARK: Identities

    @Test(.rule("R32")) func anIdentityThatChangesAfterItWasVerifiedStopsSending_untilItIsAccepted() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let early = try await scene.bobSays("early")
        #expect(try scene.crypto.shield(of: #require(scene.heard(early.eventId))) == .none)
        try scene.home.with { world in
            let other = try TestDevice("@b:s", "OTHER", on: KeyServer())
            try other.makeIdentity()
            world.keys.identities["@b:s"] = other.server.identities["@b:s"]
            world.keys.noteChange(of: "@b:s")
        }
        #expect(await eventually { (try? scene.crypto.trustLevel(forUser: "@b:s"))?.hasChanged == true })
        #expect(await eventually { scene.log.contains("has another identity") })
        #expect(try scene.crypto.shield(of: #require(scene.heard(early.eventId))) == .identityChanged)
        await #expect { try await scene.room.sendTextMessage("kept-back") } throws: {
            ($0 as? MatrixError)?.code == .identityChanged
        }
        #expect(!scene.hasLeaked("kept-back"))
        try scene.crypto.acceptIdentity(ofUser: "@b:s")
        let trust = try scene.crypto.trustLevel(forUser: "@b:s")
        #expect(!trust.isVerified && !trust.hasChanged)
        // The new identity has not signed Bob's device.
        let id = try await scene.room.sendTextMessage("to the new identity")
        #expect(try scene.reads(id, bob) == nil)
    }

    @Test(.rule("R32")) func ourOwnIdentityThatTheServerReplacesIsNotTrusted_andSignsNothing() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        #expect(await scene.home.server.hasBeenAsked("POST", "v3/keys/signatures/upload", times: 3))
        try scene.home.with { world in
            let other = try TestDevice("@a:s", "OTHER", on: KeyServer())
            try other.makeIdentity()
            world.keys.identities["@a:s"] = other.server.identities["@a:s"]
            world.keys.noteChange(of: "@a:s")
        }
        #expect(await eventually { (try? scene.crypto.crossSigning.state) == .crossSigningExists })
        #expect(await eventually { scene.log.contains("has another identity") })
        #expect(try !scene.crypto.trustLevel(forUser: "@b:s").isVerified)
        #expect(throws: MatrixError.self) { try scene.crypto.crossSigning.signUser(withUserId: "@b:s") }
        try await scene.isUpToDate()
        #expect(scene.home.server.requests("POST", "v3/keys/signatures/upload").count == 3)
    }

    @Test(.rule("R14")) func otherKeysForThisDeviceAreTold_andNotTaken() async throws {
        let scene = try await EncryptedScene()
        let own = try scene.crypto.deviceEd25519Key
        try scene.home.with { world in
            let impostor = try TestDevice("@a:s", "DEVICE", on: KeyServer())
            world.keys.devices[LyingHomeserver.client]?.keys = impostor.machine.deviceKeys.json
            world.keys.noteChange(of: "@a:s")
        }
        #expect(await eventually { scene.log.contains("names other keys for this device than it has") })
        #expect(try scene.crypto.deviceEd25519Key == own)
    }

    // MARK: One-time keys

    @Test func aOneTimeKeyWithAWrongSignatureOpensNoChannel() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            let mallory = try TestDevice("@b:s", "BOB", on: KeyServer())
            let key = try #require(mallory.server.devices[mallory.address]?.oneTimeKeys.first)
            world.keys.tamper = { request, answer in
                guard case .claimKeys = request.call else { return answer }
                return answer.with(["one_time_keys", "@b:s", "BOB"], object { $0.add(key.id, key.key) })
            }
        }
        let id = try await scene.room.sendTextMessage("not-opened")
        #expect(try scene.reads(id, bob) == nil)
        #expect(!scene.home.server.requests("PUT", "v3/sendToDevice/*/*").contains { $0.path[4] == "m.room.encrypted" })
        #expect(await scene.home.server.hasBeenAsked("PUT", "v3/sendToDevice/m.room_key.withheld/*"))
        #expect(!scene.hasLeaked("not-opened"))
    }

    /// The server gives one of the client's keys to two devices, so the second channel cannot be opened. The client
    /// opens a new one, and later messages are readable.
    @Test func aOneTimeKeyThatIsGivenTwiceCostsOneMessage() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            world.setMember("@e:s")
            let client = LyingHomeserver.client
            let key = try #require(world.keys.devices[client]?.oneTimeKeys.first)
            world.keys.devices[client]?.oneTimeKeys.insert(key, at: 0)
        }
        _ = try await scene.bobSays("the first")
        try await scene.crypto.downloadKeys(["@e:s"])
        let lost = try scene.home.with { world in
            let event = try world.say("lost", by: world.eve, to: ["@a:s", "@b:s", "@e:s"])
            world.tell(event)
            return event
        }
        #expect(await scene.hears(lost.eventId, .unknownSession))
        // A new channel tells Eve that keys were lost.
        #expect(await scene.home.server.hasBeenAsked("PUT", "v3/sendToDevice/m.room.encrypted/*"))
        let next = try scene.home.with { world in
            let event = try world.say("found", by: world.eve, to: ["@a:s", "@b:s", "@e:s"])
            world.tell(event)
            return event
        }
        #expect(await scene.hears(next.eventId, "found"))
    }

    /// Whatever the server claims, the number of new keys is limited.
    @Test func aServerThatSaysThatItHasNoKeysIsNotGivenThemWithoutEnd() async throws {
        let scene = try await EncryptedScene()
        try scene.home.with { world in
            world.saidKeyCount = 0
            world.keys.tamper = { request, answer in
                guard case .uploadKeys = request.call else { return answer }
                return object { $0.add("one_time_key_counts", object { $0.add("signed_curve25519", json: "0") }) }
            }
        }
        let before = scene.home.server.requests("POST", "v3/keys/upload").count
        for _ in 0..<10 { try await scene.isUpToDate() }
        // The next upload is delayed.
        #expect(scene.home.server.requests("POST", "v3/keys/upload").count <= before + 3)
    }
}

extension JSONView {
    static func string(_ text: String) -> JSONView { object { $0.add("text", text) }["text"] ?? .nothing }

    /// A copy with another value at the end of a path; `nil` removes it.
    func with(_ path: ArraySlice<String>, _ value: JSONView?) -> JSONView {
        guard let first = path.first else { return value ?? .nothing }
        return object { writer in
            var isThere = false
            for (key, old) in members {
                guard key == first else {
                    writer.add(key, old)
                    continue
                }
                isThere = true
                if path.count > 1 {
                    writer.add(key, old.with(path.dropFirst(), value))
                } else if let value {
                    writer.add(key, value)
                }
            }
            if !isThere, path.count == 1, let value { writer.add(first, value) }
        }
    }

    func with(_ path: [String], _ value: JSONView?) -> JSONView { with(path[...], value) }
}
