import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Verifications whose events are sent in a room.
@Suite struct VerificationInRoomTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    private func request(_ device: TestDevice, of user: String) throws {
        try device.turn { try $0.requestVerification(of: user, inRoom: "!dm:s", &$1) }
        try device.pump()
    }

    /// Delivers the events since a position to all devices, until they send no more.
    private func read(_ devices: TestDevice..., from start: Int = 0) throws {
        var start = start
        while start < server.timeline.count {
            let end = server.timeline.count
            for device in devices { try device.readRooms(from: start, to: end) }
            start = end
        }
    }

    private var types: [String] { server.timeline.map { $0.type.replacing("m.key.verification.", with: "") } }

    @Test(arguments: [true, false]) func twoUsersVerifyEachOther(isEncrypted: Bool) throws {
        var seen = 0
        func read() throws {
            guard isEncrypted else {
                try self.read(alice, bob, from: seen)
                return seen = server.timeline.count
            }
            while seen < server.timeline.count {
                try deliver(server.timeline[seen])
                seen += 1
            }
        }
        let room = isEncrypted ? "!r:s" : "!dm:s"
        try alice.turn { try $0.requestVerification(of: "@bob:s", inRoom: room, &$1) }
        try alice.pump()
        let event = try #require(server.timeline.first)
        #expect(try alice.verification.id == .init(user: "@bob:s", roomId: room, transaction: event.eventId))
        try read()
        #expect(try bob.state == .requested && bob.verification.id.transaction == event.eventId)
        try bob.acceptVerification()
        try read()
        #expect(try alice.state.isReady)
        try alice.startComparing()
        try read()
        #expect(try alice.isComparing && alice.shown == bob.shown)
        try alice.confirmSame()
        try read()
        try bob.confirmSame()
        try read()
        #expect(try alice.state == .done && bob.state == .done)
        #expect(try alice.isVerified("@bob:s") && bob.isVerified("@alice:s"))
        #expect(
            types == ["m.room.message", "ready", "start", "accept", "key", "key", "mac", "mac", "done", "done"])
        for event in server.timeline.dropFirst() {
            #expect(event.content["transaction_id"] == nil)
            #expect(event.content["m.relates_to"]?["event_id"]?.string == server.timeline[0].eventId)
            #expect(event.content["m.relates_to"]?["rel_type"]?.string == "m.reference")
        }
        #expect(server.types(to: bob.address).isEmpty && server.types(to: alice.address).isEmpty)
    }

    /// Encrypts an event of the encrypted room, for Alice and Bob.
    private func deliver(_ event: KeyServer.RoomEvent, from sender: TestDevice? = nil) throws {
        let sender = sender ?? (event.sender == alice.address ? alice : bob)
        let encrypted = try sender.send(
            "", to: RoomToEncrypt.room("@alice:s", "@bob:s"), type: event.type, content: event.content)
        for device in [alice, bob] {
            try device.sync()
            let clear = try device.read(encrypted).get()
            try device.take(
                event, content: try #require(clear["content"]), sessionId: encrypted.content["session_id"]?.string)
            try device.pump()
        }
    }

    /// In an encrypted room, the session's device is the sender, and a server cannot forge messages.
    @Test func inAnEncryptedRoomOnlyTheDeviceThatTakesPartIsHeard() throws {
        let second = try scene.join("@bob:s", "B2")
        try second.know("@alice:s")
        try alice.turn { try $0.requestVerification(of: "@bob:s", inRoom: "!r:s", &$1) }
        try alice.pump()
        var request = server.timeline[0]
        try bob.take(request, content: request.content, sessionId: nil)  // unencrypted
        try bob.take(request, content: request.content, sessionId: "unknown")
        // Nor with another user's session whose device has the same ID.
        let eve = try TestDevice("@eve:s", "A", on: server)
        try eve.encryptRoom("!r:s")
        let other = try eve.send("x", to: RoomToEncrypt.room("@eve:s", "@bob:s")).content["session_id"]?.string
        try bob.sync()
        try bob.take(request, content: request.content, sessionId: other)
        #expect(bob.machine.verifications.isEmpty)
        try deliver(request)
        try bob.acceptVerification()
        try deliver(server.timeline[1])
        #expect(try alice.state.isReady)
        request = .init(
            sender: second.address, roomId: "!r:s", eventId: "$2", type: "m.key.verification.cancel",
            content: object { content in
                content.add("code", "m.user")
                content.add("m.relates_to", server.timeline[1].content["m.relates_to"] ?? .nothing)
            })
        try alice.take(request, content: request.content, sessionId: nil)
        try alice.turn { try $0.setTrust(.verified, of: second.address, &$1) }
        try deliver(request, from: second)
        #expect(try alice.state.isReady && bob.state.isReady)
        // Nor can one device answer for another.
        try alice.startComparing()
        let start = server.timeline[2]
        request = .init(
            sender: second.address, roomId: "!r:s", eventId: "$3", type: start.type,
            content: start.content.with(["from_device": "\"B\""]))
        try deliver(request, from: second)
        #expect(try alice.state == .exchanging && bob.state.isReady)
        try deliver(start)
        try deliver(server.timeline[3])
        #expect(try alice.state == .exchanging && server.timeline.count == 5)
        try deliver(
            .init(
                sender: bob.address, roomId: "!r:s", eventId: "$4", type: request.type, content: request.content))
        #expect(try alice.state.ownCode == .unexpectedMessage)  // from the right device
    }

    /// The relation is outside the encrypted event, and is hashed with the decrypted content.
    @Test(.rule("R28")) func theRelationIsHashedWhereverItStands() throws {
        try request(alice, of: "@bob:s")
        try read(alice, bob)
        try bob.acceptVerification()
        try read(alice, from: 1)
        try alice.startComparing()
        let start = try #require(server.timeline.last)
        let room = RoomToEncrypt.room("@alice:s", "@bob:s")
        let encrypted = try alice.send("", to: room, type: start.type, content: start.content)
        #expect(encrypted.content["m.relates_to"] != nil)
        try bob.sync()
        let clear = try bob.read(encrypted).get()
        server.timeline[server.timeline.count - 1].content = try #require(clear["content"])
        try read(bob, from: 2)
        try read(alice, bob, from: 3)
        #expect(try alice.isComparing && alice.shown == bob.shown)
    }

    @Test func aRelationThatTheServerAddsToCancels() throws {
        try request(alice, of: "@bob:s")
        try read(alice, bob)
        try bob.acceptVerification()
        try read(alice, from: 1)
        try alice.startComparing()
        let start = try #require(server.timeline.last)
        let relation = try #require(start.content["m.relates_to"]).with(["x": "1"]).compactText
        server.timeline[server.timeline.count - 1].content = start.content.with(["m.relates_to": relation])
        try read(bob, from: 2)
        try read(alice, bob, from: 3)
        #expect(try alice.state.ownCode == .mismatchedCommitment)
    }

    @Test func byCode() throws {
        try request(alice, of: "@bob:s")
        try read(alice, bob)
        try bob.acceptVerification()
        try read(alice, from: 1)
        try alice.scan(try #require(try bob.code))
        try read(alice, bob, from: 2)
        try bob.confirmScanned()
        try read(alice, bob, from: 3)
        #expect(try alice.state == .done && bob.state == .done && alice.isVerified("@bob:s"))
    }

    /// Rooms are read again, and events that were unreadable at first are delivered once more.
    @Test func eventsThatComeTwiceCountOnce() throws {
        try request(alice, of: "@bob:s")
        for _ in 0..<2 { try bob.readRooms() }
        try bob.acceptVerification()
        for _ in 0..<2 { try alice.readRooms() }
        try alice.startComparing()
        for _ in 0..<4 { for device in [alice, bob] { try device.readRooms() } }
        #expect(try alice.isComparing && alice.shown == bob.shown)
        for device in [alice, bob] { try device.confirmSame() }
        for _ in 0..<4 { for device in [alice, bob] { try device.readRooms() } }
        #expect(try alice.state == .done && bob.state == .done)
        #expect(types.count == 10)
    }

    // MARK: Participants

    @Test func anotherDeviceOfOursThatAnswersTakesPart() throws {
        let second = try scene.join("@bob:s", "B2")
        try second.know("@alice:s")
        try request(alice, of: "@bob:s")
        for device in [bob, second] { try device.readRooms() }
        try second.acceptVerification()
        try bob.readRooms(from: 1)
        #expect(try bob.state.ownCode == .accepted)
        try read(alice, second, bob, from: 1)
        try alice.startComparing()
        try read(alice, second, bob, from: 2)
        #expect(try alice.verification.device == "B2" && alice.shown == second.shown && alice.isComparing)
        #expect(!types.contains("cancel"))
    }

    @Test func ofTwoThatAnswerAtOnceTheFirstInTheRoomTakesPart() throws {
        let second = try scene.join("@bob:s", "B2")
        try second.know("@alice:s")
        try request(alice, of: "@bob:s")
        for device in [bob, second] { try device.readRooms() }
        try second.acceptVerification()
        try bob.acceptVerification()
        try read(alice, bob, second, from: 1)
        #expect(try alice.verification.device == "B2" && second.state.isReady)
        #expect(try bob.state.ownCode == .accepted)
        try alice.startComparing()
        try read(alice, bob, second, from: 3)
        #expect(try alice.isComparing && alice.shown == second.shown)
        #expect(types.count { $0 == "accept" } == 1)
    }

    @Test func whoHasStartedAlreadyGivesWayToTheFirstThatAnswered() throws {
        let second = try scene.join("@bob:s", "B2")
        try second.know("@alice:s")
        try request(alice, of: "@bob:s")
        for device in [bob, second] { try device.readRooms() }
        try second.acceptVerification()
        try bob.acceptVerification()
        try bob.startComparing()
        try read(alice, bob, second, from: 1)
        #expect(try bob.state.ownCode == .accepted && alice.state.isReady && second.state.isReady)
    }

    @Test func anotherDeviceOfOursThatDeclinesDeclinesForAll() throws {
        let second = try scene.join("@bob:s", "B2")
        try second.know("@alice:s")
        try request(alice, of: "@bob:s")
        for device in [bob, second] { try device.readRooms() }
        try second.cancelVerification()
        try read(alice, bob, second, from: 1)
        #expect(try bob.state.ownCode == .user && alice.state.peersCode == .user)
        #expect(types.count { $0 == "cancel" } == 1)
    }

    @Test func strangersInTheRoomAreNotHeard() throws {
        let eve = try TestDevice("@eve:s", "E", on: server)
        try request(alice, of: "@bob:s")
        try read(alice, bob)
        try bob.acceptVerification()
        try read(alice, bob, from: 1)
        let id = server.timeline[0].eventId
        let content = object { content in
            content.add("from_device", "B")
            content.add("code", "m.user")
            content.add(
                "m.relates_to",
                object {
                    $0.add("rel_type", "m.reference")
                    $0.add("event_id", id)
                })
        }
        let start = server.timeline.count
        for type in ["ready", "start", "accept", "key", "mac", "done", "cancel"] {
            // Nor does Bob in another room.
            for (sender, room) in [(eve, "!dm:s"), (bob, "!x:s")] {
                server.timeline.append(
                    .init(
                        sender: sender.address, roomId: room, eventId: "$\(room)-\(type)",
                        type: "m.key.verification." + type, content: content))
            }
        }
        try read(alice, bob, from: start)
        #expect(try alice.state.isReady && bob.state.isReady)
        #expect(server.timeline.count == start + 14)
    }

    @Test func whatOthersVerifyIsNotOurs() throws {
        let carol = try scene.join("@carol:s", "C")
        try carol.know("@alice:s", "@bob:s")
        try request(alice, of: "@bob:s")
        try read(alice, bob, carol)
        #expect(carol.machine.verifications.isEmpty)
        try bob.acceptVerification()
        try read(alice, bob, carol, from: 1)
        try alice.startComparing()
        try read(alice, bob, carol, from: 2)
        #expect(try alice.isComparing && !types.contains("cancel"))
    }

    @Test func anOldRequestOfTheHistoryIsNotAsked() throws {
        try request(alice, of: "@bob:s")
        let event = try #require(server.timeline.first)
        for (age, isAsked) in [(600_001, false), (600_000, true)] as [(UInt64, Bool)] {
            try bob.turn {
                try $0.receive(
                    VerificationRoomEvent(
                        roomId: "!dm:s", eventId: event.eventId, sender: "@alice:s", sessionId: nil,
                        time: bob.now - age,
                        type: event.type, content: event.content), &$1)
            }
            #expect(bob.machine.verifications.isEmpty != isAsked)
        }
    }

    // MARK: Sending

    /// A device that cannot read the message could not be verified.
    @Test func devicesThatNobodyHasVerifiedCanReadIt_andNothingElse() throws {
        let second = try scene.join("@bob:s", "B2")
        let members = ["@alice:s", "@bob:s"]
        let usual = RoomToEncrypt(roomId: "!r:s", members: members, isSharedHistory: true, policy: .verified)
        let verifying = RoomToEncrypt(
            roomId: "!r:s", members: members, isSharedHistory: true, policy: .verified, isForVerification: true)
        let before = try alice.send("before", to: usual)
        let event = try alice.send(
            "", to: verifying, type: "m.key.verification.key", content: object { $0.add("key", "x") })
        let after = try alice.send("after", to: usual)
        for device in [bob, second] {
            try device.sync()
            #expect(try device.read(event).get()["content"]?["key"]?.string == "x")
            #expect(try device.failure(before) != nil && device.failure(after) != nil)
        }
    }

    /// That message verifies a user whose keys have changed.
    @Test func aChangedIdentityDoesNotStopIt() throws {
        try alice.turn { try $0.signUser("@bob:s", &$1) }
        try bob.makeIdentity(isReset: true)
        try alice.sync()
        #expect(throws: SharingError.notAcknowledged(users: ["@bob:s"])) {
            try alice.send("x", to: RoomToEncrypt.room("@alice:s", "@bob:s"))
        }
        let event = try alice.send(
            "x",
            to: RoomToEncrypt(
                roomId: "!r:s", members: ["@alice:s", "@bob:s"], isSharedHistory: true, isForVerification: true))
        try bob.sync()
        #expect(try bob.text(event) == "x")
    }

    @Test func ourRequestMayComeBeforeItsAnswer() throws {
        try alice.turn { try $0.requestVerification(of: "@bob:s", inRoom: "!dm:s", &$1) }
        let request = try #require(try alice.turn { try $0.requests(&$1) }.first)
        let answer = try server.answer(request, from: alice.address)
        #expect(alice.machine.verifications.isEmpty)
        try alice.readRooms()
        #expect(alice.machine.verifications.count == 1)
        try alice.turn { try $0.answered(request.id, answer, &$1) }
        #expect(alice.machine.verifications.count == 1)
        // The history delivers it once more.
        try alice.readRooms()
        #expect(alice.machine.verifications.count == 1)
    }

    @Test func eventsOfARoomGoOneAfterTheOther_withTheSameId() throws {
        try alice.turn {
            try $0.requestVerification(of: "@bob:s", inRoom: "!dm:s", &$1)
            try $0.requestVerification(of: "@bob:s", inRoom: "!dm:s", &$1)
            try $0.requestVerification(of: "@bob:s", inRoom: "!other:s", &$1)
        }
        let requests = try alice.turn { try $0.requests(&$1) }
        #expect(requests.count == 2)
        try alice.turn { try $0.failed(requests[0].id, isFinal: false, &$1) }
        #expect(try alice.turn { try $0.requests(&$1) }.isEmpty)
        alice.now += 15_000
        let again = try alice.turn { try $0.requests(&$1) }
        #expect(again.map(\.call) == [requests[0].call])
        try alice.turn { try $0.failed(again[0].id, isFinal: true, &$1) }
        #expect(alice.machine.verifications.isEmpty)  // the server has none
        #expect(try alice.turn { try $0.requests(&$1) }.count == 1)
    }

    @Test func ourOwnDevicesAreNotVerifiedInRooms() throws {
        #expect(throws: EncryptionError.ids) {
            try alice.turn { try $0.requestVerification(of: "@alice:s", inRoom: "!dm:s", &$1) }
        }
    }
}
