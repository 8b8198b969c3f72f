import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// The history that new members of a room receive.
@Suite struct HistorySharingTests {
    private let server = KeyServer()
    private let (alice, bob): (TestDevice, TestDevice)
    private let file: EncryptedFile

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] {
            try device.encryptRoom("!r:s")
            try device.makeIdentity()
        }
        var encryptor = AttachmentEncryptor(random: .system)
        _ = encryptor.encrypt([1])
        var file = encryptor.finish()
        file.url = "mxc://s/history"
        self.file = file
    }

    private func share(from: TestDevice? = nil) throws {
        try (from ?? alice).turn { try $0.shareHistory(of: "!r:s", file: file, with: "@bob:s", &$1) }
        try (from ?? alice).pump()
    }

    private func bundle() throws -> SecretBytes {
        try #require(try alice.turn { try $0.historyBundle(of: "!r:s", &$1) })
    }

    @Test func anInvitedUserReadsWhatWasSaidBefore() throws {
        let early = try alice.send("early", to: .room("@alice:s"))
        try alice.turn { try $0.discardSession(of: "!r:s", &$1) }
        let secret = RoomToEncrypt(roomId: "!r:s", members: ["@alice:s"], isSharedHistory: false)
        let hidden = try alice.send("hidden", to: secret)
        let unsigned = try TestDevice("@bob:s", "B2", on: server)
        let bundle = try bundle()
        try share()
        #expect(unsigned.waitingMessages("m.room.encrypted").isEmpty)
        try bob.sync()
        #expect(!bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))  // not joined yet
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == nil)
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        #expect(bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == file)
        try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) }
        #expect(try bob.text(early) == "early")
        #expect(try bob.failure(hidden) == .withheld(code: "m.history_not_shared"))
        let record = try #require(try bob.session(early.sessionId))
        #expect(record.source == .history && record.forwarders == [alice.machine.account.curve25519.publicKey])
        let shield = try bob.turn { try $0.shield(roomId: "!r:s", sessionId: early.sessionId, &$1) }
        #expect(shield == .authenticityNotGuaranteed)
        #expect(throws: EncryptionError.unasked) { try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) } }
    }

    @Test func onlyWhoHasInvitedIsBelieved() throws {
        _ = try alice.send("x", to: .room("@alice:s"))
        try share()
        try bob.sync()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@eve:s", &$1) }
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == nil)
        #expect(throws: EncryptionError.unasked) { try bob.turn { try $0.importHistory(bundle(), of: "!r:s", &$1) } }
    }

    @Test func anOfferThatComesAfterJoiningIsToldWithinADay() throws {
        _ = try alice.send("x", to: .room("@alice:s"))
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        try share()
        try bob.sync()
        #expect(bob.takeNotices().contains(.history(roomId: "!r:s", from: "@alice:s")))
        bob.now += 86_400_000
        alice.now = bob.now
        try share()
        try bob.sync()
        #expect(!bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } != nil)  // at the user's request
    }

    @Test func anUnsignedDeviceOffersNothing() throws {
        let second = try alice.second()
        try share(from: second)
        bob.takeNotices()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        try bob.sync()
        #expect(!bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == nil)
        // Once signed, it counts.
        try alice.turn { try $0.signDevice("A2", &$1) }
        try alice.pump()
        try bob.sync()
        #expect(bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))
    }

    @Test func aBundleAddsWhatIsMissing_toItsRoomOnly() throws {
        let event = try alice.send("x", to: .room("@alice:s", "@bob:s"))
        try bob.sync()
        let before = try bob.session(event.sessionId)
        let foreign = try alice.makeSessions(1, in: "!other:s")[0]
        let other = try #require(JSONView(Array(foreign.fileJSON.withUnsafeBytes { Array($0) })))
        let good = try #require(JSONView(bundle().withUnsafeBytes { Array($0) })?["room_keys"]?.array?.first)
        try share()
        try bob.sync()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        let bundle = SecretBytes(#"{"room_keys":[\#(other.compactText),{},7,\#(good.compactText)]}"#.utf8)
        try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) }
        #expect(try bob.session(event.sessionId) == before)
        #expect(try bob.session(foreign.sessionID, in: "!other:s") == nil && bob.session(foreign.sessionID) == nil)
    }

    /// Syncs continue between the parts.
    @Test func aLargeBundleIsTakenInParts_once() throws {
        _ = try alice.makeSessions(1_200)
        let bundle = try bundle()
        try share()
        try bob.sync()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) }
        #expect(try bob.turn { try $0.exportSessions(&$1) }.count == 1_000)
        // Further offers are not requested meanwhile.
        bob.takeNotices()
        try share()
        try bob.turn { machine, turn in try machine.receive(server.sync(bob.address), &turn) }
        #expect(throws: EncryptionError.unasked) { try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) } }
        #expect(bob.machine.nextRetry ?? .max <= bob.now)
        try bob.pump()
        #expect(try bob.turn { try $0.exportSessions(&$1) }.count == 1_200)
        // Nor afterwards: otherwise a single invitation would be trusted forever.
        try share()
        try bob.sync()
        #expect(!bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == nil)
    }

    /// Each offer costs a download.
    @Test func offersOfOneRoomAreToldAFewTimes() throws {
        _ = try alice.send("x", to: .room("@alice:s"))
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        for _ in 0..<8 {
            try share()
            try bob.sync()
        }
        #expect(bob.notices.count { $0 == .history(roomId: "!r:s", from: "@alice:s") } == 5)
    }

    /// The offer was reported, but its import was not finished.
    @Test func anOfferThatWasNotTakenIsToldAgainByTheNextProcess() throws {
        _ = try alice.makeSessions(1_200)
        let bundle = try bundle()
        try share()
        try bob.sync()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        bob.takeNotices()
        try bob.restart()
        try bob.pump()
        #expect(bob.takeNotices() == [.history(roomId: "!r:s", from: "@alice:s")])
        try bob.pump()
        #expect(bob.notices.isEmpty)
        // Likewise if the process ends before the import is complete.
        try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) }
        bob.takeNotices()
        try bob.restart()
        try bob.pump()
        #expect(bob.takeNotices() == [.history(roomId: "!r:s", from: "@alice:s")])
        try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) }
        try bob.pump()
        #expect(try bob.turn { try $0.exportSessions(&$1) }.count == 1_200)
        bob.takeNotices()
        try bob.restart()
        try bob.pump()
        #expect(bob.notices.isEmpty)
    }

    /// It may have keys of newer messages.
    @Test func anotherOfferThatComesWhileOneIsTakenIsNotLost() throws {
        _ = try alice.makeSessions(1_200)
        let bundle = try bundle()
        try share()
        try bob.sync()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        try bob.turn { try $0.importHistory(bundle, of: "!r:s", &$1) }
        var newer = file
        newer.url = "mxc://s/newer"
        try alice.turn { try $0.shareHistory(of: "!r:s", file: newer, with: "@bob:s", &$1) }
        try alice.pump()
        try bob.turn { machine, turn in try machine.receive(server.sync(bob.address), &turn) }
        bob.takeNotices()
        try bob.pump()
        #expect(try bob.turn { try $0.exportSessions(&$1) }.count == 1_200)
        #expect(bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == newer)
    }

    @Test func anOfferThatCouldNotBeDownloadedIsToldAgain_aFewTimes() throws {
        _ = try alice.send("x", to: .room("@alice:s"))
        try share()
        try bob.sync()
        try bob.turn { try $0.noteJoined("!r:s", invitedBy: "@alice:s", &$1) }
        bob.takeNotices()
        var told = 0
        for _ in 0..<10 {
            try bob.turn { try $0.noteHistoryFailed(of: "!r:s", isFinal: false, &$1) }
            try bob.pump()
            #expect(!bob.notices.contains(.history(roomId: "!r:s", from: "@alice:s")))  // not immediately
            guard let retry = bob.machine.nextRetry else { break }
            bob.now = retry
            try bob.pump()
            told += bob.takeNotices().count { $0 == .history(roomId: "!r:s", from: "@alice:s") }
        }
        #expect(told == 4)  // five with the first one
        #expect(bob.machine.nextRetry == nil)
        // A bundle that can never be imported is not requested again.
        try bob.restart()
        try bob.turn { try $0.noteHistoryFailed(of: "!r:s", isFinal: true, &$1) }
        try bob.pump()
        #expect(bob.notices.isEmpty)
        #expect(try bob.turn { try $0.offeredHistory(of: "!r:s", &$1) } == nil)
    }

    @Test func offersOfStrangersAreFew() throws {
        let eve = try TestDevice("@eve:s", "E", on: server)
        try eve.makeIdentity()
        try bob.know("@eve:s")
        for number in 0..<24 {
            let offer = object { writer in
                writer.add("room_id", "!\(number):s")
                writer.add("file", file.json)
            }
            try eve.sendSecretly("m.room_key_bundle", offer, to: bob)
            try bob.sync()
        }
        #expect(bob.dropped.isEmpty)
        let rooms = try bob.turn { try $1.records.values(HistoryOfferRecord.self).map(\.value.roomId) }
        #expect(Set(rooms) == Set((4..<24).map { "!\($0):s" }))  // the latest
        var web = file
        web.url = "https://eve.example/track"
        try eve.sendSecretly(
            "m.room_key_bundle",
            object { writer in
                writer.add("room_id", "!0:s")
                writer.add("file", web.json)
            }, to: bob)
        bob.takeNotices()
        try bob.sync()
        #expect(bob.dropped == [.ids])
    }
}
