import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// Encrypted rooms on a real homeserver: our sessions with each other, and with matrix-nio.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct EncryptedRoomTests {
    @Test func oursReadEachOther_alsoAfterRestarts() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedUser("bob", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: bob.user.id)
        let other = try await bob.join(room.roomId)
        for step in 0..<5 {
            let (one, two) = ("ann \(step)", "bob \(step)")
            #expect(await bob.hears(try await room.sendTextMessage(one), one))
            #expect(await ann.hears(try await other.sendTextMessage(two), two))
        }
        try await ann.restart()
        let again = try await ann.room(room.roomId)
        #expect(await bob.hears(try await again.sendTextMessage("after a restart"), "after a restart"))
        try await bob.restart()
        #expect(await bob.hears(try await again.sendTextMessage("after yours"), "after yours"))
        @Sendable func stored() -> [MXEvent] {
            ((try? again.storedMessages()) ?? []).filter { $0.type == "m.room.message" && $0.isDecrypted }
        }
        #expect(await eventually { stored().count == 12 })
    }

    @Test func textGoesBothWaysWithMatrixNio_alsoAfterRestarts() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, nio) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedPeer("nio", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: nio.user.id)
        try await nio.perform("join", room.roomId)
        for step in 0..<5 {
            #expect(await nio.hears(try await room.sendTextMessage("ours \(step)"), "ours \(step)"))
            #expect(await ann.hears(try await nio.send("nio \(step)", to: room.roomId), "nio \(step)"))
        }
        try await ann.restart()
        let again = try await ann.room(room.roomId)
        #expect(await nio.hears(try await again.sendTextMessage("ours again"), "ours again"))
        try await nio.restart()
        #expect(await ann.hears(try await nio.send("nio again", to: room.roomId), "nio again"))
        #expect(await nio.hears(try await again.sendTextMessage("to nio again"), "to nio again"))
    }

    @Test func aRoomThatIsEncryptedLater_isSoForEverybody() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedUser("bob", on: homeserver)
        )
        let parameters = MXRoomCreationParameters()
        parameters.inviteArray = [bob.user.id]
        let roomId = try await ann.session.matrixRestClient.createRoom(parameters: parameters)
        let (room, other) = (try await ann.room(roomId), try await bob.join(roomId))
        let clear = try await room.sendTextMessage("for everybody")
        #expect(await bob.hears(clear, "for everybody"))
        try await room.enableEncryption()
        // No sync needs to report it before the next message.
        let secret = try await room.sendTextMessage("for us")
        #expect(await bob.hears(secret, "for us"))
        #expect(bob.event(clear)?.isDecrypted == false && bob.event(secret)?.isDecrypted == true)
        let answer = try await other.sendTextMessage("me, too")
        #expect(await ann.hears(answer, "me, too"))
        #expect(ann.event(answer)?.isDecrypted == true)
    }

    @Test func filesGoBothWays() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, nio) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedPeer("nio", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: nio.user.id)
        try await nio.perform("join", room.roomId)
        let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "plan.bin")
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try bytes.write(to: file)

        let id = try await room.sendMedia(file, mimeType: "application/octet-stream")
        #expect(await nio.hears(id, "plan.bin"))
        let copy = folder.appending(path: "copy.bin")
        try await nio.perform("download", id, copy.path)
        #expect(try Data(contentsOf: copy) == bytes)

        let theirs = try #require(try await nio.perform("upload", room.roomId, file.path)["event_id"])
        #expect(await ann.hears(theirs, "plan.bin"))
        let event = try #require(ann.event(theirs))
        let download = try await ann.session.matrixRestClient.downloadMedia(
            of: event, to: folder.appending(path: "ours.bin"))
        #expect(try Data(contentsOf: download.file) == bytes)
    }

    @Test func whoHasLeftReadsNothingMore_andWhoComesLaterNothingEarlier() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, nio, late) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedPeer("nio", on: homeserver),
            try await EncryptedPeer("late", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: nio.user.id)
        try await nio.perform("join", room.roomId)
        let first = try await room.sendTextMessage("to nio")
        #expect(await nio.hears(first, "to nio"))
        #expect(await ann.hears(first, "to nio"))
        let session = try #require(ann.event(first)?.wireContent["session_id"]?.string)
        try await nio.perform("leave", room.roomId)
        #expect(await eventually { room.state?.members.member(withUserId: nio.user.id)?.membership == .leave })
        try await ann.session.matrixRestClient.inviteUser(late.user.id, toRoom: room.roomId)
        try await late.perform("join", room.roomId)
        #expect(await eventually { room.state?.members.member(withUserId: late.user.id)?.membership == .join })
        let second = try await room.sendTextMessage("without nio")
        #expect(await late.hears(second, "without nio"))
        #expect(await ann.hears(second, "without nio"))
        #expect(ann.event(second)?.wireContent["session_id"]?.string != session)
        // All members can see the room's history, but do not get its key.
        #expect(await late.failsToRead(first))
    }

    @Test func aBlockedDeviceGetsNoKey_andAnotherOneDoes() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, nio, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedPeer("nio", on: homeserver),
            try await EncryptedUser("bob", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: nio.user.id, bob.user.id)
        try await nio.perform("join", room.roomId)
        _ = try await bob.join(room.roomId)
        let crypto = try #require(try ann.session.crypto)
        try await crypto.downloadKeys([nio.user.id])
        let device = try #require(try crypto.devices(forUser: nio.user.id).first)
        try crypto.setDeviceVerification(.blocked, forDevice: device.deviceId, ofUser: nio.user.id)
        let id = try await room.sendTextMessage("not for nio")
        #expect(await bob.hears(id, "not for nio"))
        #expect(await nio.failsToRead(id))
    }

    @Test func keysGoThroughFilesBothWays() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, nio) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedPeer("nio", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: nio.user.id)
        try await nio.perform("join", room.roomId)
        let id = try await room.sendTextMessage("for the other device, too")
        let theirs = try await nio.send("from nio", to: room.roomId)
        #expect(await nio.hears(id, "for the other device, too"))
        #expect(await ann.hears(theirs, "from nio"))
        let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ours, nios) = (folder.appending(path: "ours.txt"), folder.appending(path: "nio.txt"))
        try await #require(try ann.session.crypto).exportRoomKeys(withPassword: "secret words").write(to: ours)
        try await nio.perform("export", nios.path, "secret words")

        // A second device of ann knows nothing of the earlier messages.
        let second = try await EncryptedUser("ann", on: homeserver, as: ann.user)
        let sameRoom = try await second.room(room.roomId)
        let unread = try await sameRoom.event(withId: id)
        #expect(unread.isEncrypted && unread.decryptionError == .unknownSession)
        let result = try await #require(try second.session.crypto).importRoomKeys(
            Data(contentsOf: nios), withPassword: "secret words")
        #expect(result.imported == result.total && result.total >= 2)
        #expect(try await sameRoom.event(withId: id).contentJSON["body"]?.string == "for the other device, too")
        #expect(try await sameRoom.event(withId: theirs).contentJSON["body"]?.string == "from nio")

        let other = try await EncryptedPeer("nio", on: homeserver, as: nio.user)
        try await other.perform("import", ours.path, "secret words")
    }

    @Test func aSecondDeviceIsVerifiedByEmoji_andSignsThen() async throws {
        let homeserver = try Homeserver(.plain)
        let first = try await EncryptedUser("ann", on: homeserver)
        let crypto = try #require(try first.session.crypto)
        guard case .completed = try await crypto.crossSigning.setup() else {
            Issue.record("the homeserver wants more for a first identity")
            return
        }
        #expect(crypto.crossSigning.state == .canCrossSign)
        let second = try await EncryptedUser("ann", on: homeserver, as: first.user)
        let other = try #require(try second.session.crypto)
        #expect(await eventually { other.crossSigning.state == .crossSigningExists })
        async let shown = compare(crypto.keyVerificationManager, begins: false)
        async let asked = compare(other.keyVerificationManager, begins: true)
        let (ours, theirs) = (try await shown, try await asked)
        #expect(ours == theirs && ours?.count == 7)
        // The private keys follow, so that this device can also sign.
        #expect(await eventually { other.crossSigning.state == .canCrossSign })
        let device = try #require(other.deviceEd25519Key)
        #expect(
            await eventually {
                (try? crypto.devices(forUser: first.user.id))?.contains {
                    $0.fingerprint == device && $0.isCrossSigned && $0.verification == .verified
                } == true
            })
    }

    @Test func twoUsersVerifyEachOtherInTheirRoom() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedUser("bob", on: homeserver)
        )
        let (annCrypto, bobCrypto) = (try #require(try ann.session.crypto), try #require(try bob.session.crypto))
        for crypto in [annCrypto, bobCrypto] { _ = try await crypto.crossSigning.setup() }
        let room = try await ann.makeRoom(inviting: bob.user.id)
        _ = try await bob.join(room.roomId)
        async let shown = compare(bobCrypto.keyVerificationManager, begins: false)
        async let asked = compare(
            annCrypto.keyVerificationManager, begins: true, with: bob.user.id, inRoom: room.roomId)
        let (ours, theirs) = (try await shown, try await asked)
        #expect(ours == theirs && ours?.count == 7)
        #expect(await eventually { (try? annCrypto.trustLevel(forUser: bob.user.id))?.isVerified == true })
        #expect(await eventually { (try? bobCrypto.trustLevel(forUser: ann.user.id))?.isVerified == true })
    }

    /// Runs a verification whose user confirms everything.
    ///
    /// - Returns: The names of the emoji shown.
    private func compare(
        _ manager: MXKeyVerificationManager, begins: Bool, with userId: String? = nil, inRoom roomId: String? = nil
    ) async throws -> [String]? {
        let changes = manager.changes()
        if begins {
            if let userId, let roomId {
                try await manager.requestVerificationByDM(withUserId: userId, roomId: roomId)
            } else {
                _ = try await manager.requestVerificationByToDevice(withUserId: manager.userId)
            }
        }
        var shown: [String]?
        for await change in changes {
            switch change.state {
            case .requested: if change.isIncoming { try change.accept() }
            case .ready: if begins { try change.startSAS() }
            case .comparing(let emoji, _, let isConfirmed):
                shown = emoji.map(\.name)
                if !isConfirmed { try change.confirmSASMatch() }
            case .done, .cancelled: return change.state == .done ? shown : nil
            default: break
            }
        }
        return shown
    }
}
