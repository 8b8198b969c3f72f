import Foundation
import GRDB
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixSDK

/// Keys in a store, and decrypted events.
struct KeyStoreTests {
    private let secret = SecretBytes([1, 2, 3])

    private func commit(
        _ test: StoreUnderTest, _ place: RecordKey, _ record: Bytes?, moves: Bool = false,
        _ change: (inout MXStoreChanges) -> Void = { _ in }
    ) throws {
        var records = Records(MemoryRecords())
        if let record {
            records.set(record, scope: place.scope, key: place.key)
        } else {
            records.remove(place.kind, scope: place.scope, key: place.key)
        }
        records.movesSendingRatchet = moves
        var changes = MXStoreChanges()
        changes.encryption.add(records)
        change(&changes)
        try test.store.commit(changes)
    }

    private func records(_ test: StoreUnderTest) throws -> any RecordStore {
        try #require(test.store as? any RecordStore)
    }

    /// A record with its bytes unchanged.
    private struct Bytes: MatrixEncryption.Record {
        static let kind = RecordKind.setting
        let state: SecretBytes
        init(state: SecretBytes) { self.state = state }
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func recordsAreKeptByExactlyTheirNames_inTheOrderOfTheirBytes(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        // Two that are equal as Swift strings, and one with a zero.
        for key in ["e\u{301}", "\u{e9}", "a\0b", "Z"] {
            try commit(test, RecordKey(.setting, scope: "s", key: key), Bytes(state: SecretBytes(key.utf8)))
        }
        try commit(test, RecordKey(.setting, scope: "other", key: "Z"), Bytes(state: secret))
        try test.reopenIfPermanent()
        let kept = try records(test).records(.setting, scope: "s")
        #expect(kept.map { Array($0.key.utf8) } == ["Z", "a\0b", "e\u{301}", "\u{e9}"].map { Array($0.utf8) })
        #expect(kept.allSatisfy { $0.state == SecretBytes($0.key.utf8) })
        try commit(test, RecordKey(.setting, scope: "s", key: "\u{e9}"), nil)
        #expect(try records(test).record(RecordKey(.setting, scope: "s", key: "\u{e9}")) == nil)
        #expect(try records(test).record(RecordKey(.setting, scope: "s", key: "e\u{301}")) != nil)
    }

    /// The homeserver does not send a key twice.
    @Test(arguments: StoreUnderTest.Make.allCases)
    func beginningAnewKeepsKeys(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        let place = RecordKey(.setting, scope: "", key: "k")
        try commit(test, place, Bytes(state: secret), moves: true)
        var changes = MXStoreChanges()
        (changes.replacesEverything, changes.syncToken) = (true, "s1")
        try test.store.commit(changes)
        try test.reopenIfPermanent()
        #expect(try records(test).record(place) == secret)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func anEventIsReadWithWhatWasInside_orWhyThatIsNotKnown(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        func event(_ id: String) throws -> MXEvent {
            let json = #"{"type":"m.room.encrypted","event_id":"\#(id)","sender":"@b:s","content":{"ciphertext":"x"}}"#
            return try #require(MXEvent(data: Data(json.utf8), roomId: "!r"))
        }
        let clear = try #require(JSONView(Array(#"{"type":"m.room.message","content":{"body":"hi"}}"#.utf8)))
        let failures: [MXDecryptionError] = [.unknownSession, .withheld(code: "m.unverified"), .replay, .damaged]
        var timeline = [try event("$clear").withDecrypted(clear)]
        for (index, failure) in failures.enumerated() {
            timeline.append(try event("$\(index)").withDecryptionError(failure))
        }
        try test.commit { $0.timeline = timeline }
        try test.reopenIfPermanent()
        let read = try #require(try test.store.event("$clear", in: "!r"))
        #expect(read.isDecrypted && read.type == "m.room.message" && read.contentJSON["body"]?.string == "hi")
        #expect(read.wireType == "m.room.encrypted")
        for (index, failure) in failures.enumerated() {
            let event = try #require(try test.store.event("$\(index)", in: "!r"))
            #expect(event.isEncrypted && event.decryptionError == failure)
        }
        // The key has arrived.
        let readable = try event("$0").withDecrypted(clear)
        try test.commit { $0.replaced = [readable] }
        try test.reopenIfPermanent()
        #expect(try test.store.event("$0", in: "!r")?.contentJSON["body"]?.string == "hi")
    }

    /// Restores a store of an earlier version.
    private func restore(_ dump: String, of user: String, in folder: TemporaryFolder) throws -> MXFileStore {
        let file = folder.url.appending(path: StoreFolder.fileName(of: user)).appending(path: "store.sqlite")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let old = try DatabaseQueue(path: file.path)
        let dump = try Fixtures.text(dump).replacing("BEGIN TRANSACTION;", with: "").replacing("COMMIT;", with: "")
        try old.write { try $0.execute(sql: dump) }
        try old.close()
        return MXFileStore(folder: folder.url)
    }

    @Test func aDatabaseOfTheVersionBeforeKeysIsMigratedWithAllThatIsInIt() throws {
        let folder = try TemporaryFolder()
        let user = "@kill:example.org"
        let store = try restore("matrix/store-2.sql", of: user, in: folder)
        let session = try store.open(userId: user, deviceId: "DEVICE")
        #expect(session.rebuildReason == nil && session.syncToken == "s1" && session.summaries.count == 5)
        #expect(try store.events(in: "!3:example.org", before: nil, limit: 100).count == 27)
        #expect(session.outgoing.map(\.transactionId) == ["t1"])
        #expect(session.outgoing.allSatisfy { $0.encryptedContent == nil })
        #expect(try store.records(.setting, scope: "").isEmpty)
        store.close()
    }

    /// With a record of a requested session, as the first version wrote it.
    @Test func keysOfADatabaseOfTheThirdVersionReadWhatTheyHaveRead() throws {
        let folder = try TemporaryFolder()
        let store = try restore("matrix/store-3.sql", of: "@a:s", in: folder)
        let session = try store.open(userId: "@a:s", deviceId: "DEVICE")
        #expect(session.rebuildReason == nil && session.syncToken == "0_6_1_6" && session.toDevice.isEmpty)
        #expect(try store.event("$kept", in: "!r:s")?.contentJSON["body"]?.string == "kept")
        var turn = CryptoTurn(Records(store), now: 1_900_000_000_000, random: .system)
        var machine = try CryptoMachine(me: DeviceAddress("@a:s", "DEVICE"), &turn)
        #expect(machine.deviceKeys.ed25519.base64 == "7OYar+/F0AuobkSht/MAjhofqoYGc6M5b4Gm1wZRaqU")
        func read(_ id: String) throws -> MXEvent {
            let event = try #require(try store.event(id, in: "!r:s"))
            let wire = try #require(MXEvent(json: event.json, roomId: "!r:s"))
            #expect(wire.isEncrypted)
            return try machine.read(wire, &turn)
        }
        #expect(try read("$kept").contentJSON["body"]?.string == "kept")
        #expect(try read("$strange").decryptionError == .unknownSession)
        #expect(try store.records(.missingSession, scope: "").count == 1)
        #expect(turn.records.damaged == 0)
        store.close()
    }

    /// A command may ask whether a room is encrypted before the store is migrated.
    @Test func aStoreThatIsNotMigratedYetStillSaysWhatIsEncrypted() throws {
        let test = try StoreUnderTest(.file)
        test.store.close()
        let database = try DatabaseQueue(path: test.folder.file("store.sqlite").path)
        try database.write { database in
            for (kind, key) in [(EncryptedRoomRecord.kind, "!r"), (OlmAccount.kind, "")] {
                try database.execute(
                    sql: "INSERT INTO encryption VALUES (?, ?, ?, ?)",
                    arguments: [kind.rawValue, Data(), Data(key.utf8), Data([1])])
            }
            try database.execute(
                sql: "ALTER TABLE to_device DROP COLUMN clear; DELETE FROM grdb_migrations WHERE identifier = '4'")
        }
        try database.close()
        let (user, folder) = (StoreUnderTest.userId, test.folder.url)
        #expect(try MXFileStore.stored(of: user, deviceId: "DEVICE", in: folder) == nil)
        #expect(try MXFileStore.isEncrypted("!r", of: user, deviceId: "DEVICE", in: folder))
        #expect(try !MXFileStore.isEncrypted("!other", of: user, deviceId: "DEVICE", in: folder))
        #expect(try MXFileStore.hasKeys(of: user, deviceId: "DEVICE", in: folder))
        #expect(try !MXFileStore.hasKeys(of: user, deviceId: "OTHER", in: folder))
    }

    @Test func aDamagedDatabaseGivesUpItsRooms_andKeepsItsKeys() throws {
        let test = try StoreUnderTest(.file)
        let place = RecordKey(.setting, scope: "", key: "k")
        try commit(test, place, Bytes(state: secret)) { $0.syncToken = "s1" }
        test.store.close()
        let database = try DatabaseQueue(path: test.folder.file("store.sqlite").path)
        try database.write { try $0.execute(sql: "DROP TABLE receipt") }
        try database.close()
        let session = try test.store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
        #expect(session.rebuildReason != nil && session.syncToken == nil)
        #expect(try records(test).record(place) == secret)
        // Another device does not inherit them.
        test.store.close()
        let other = try test.store.open(userId: StoreUnderTest.userId, deviceId: "OTHER")
        #expect(other.rebuildReason != nil)
        #expect(try records(test).record(place) == nil)
    }

    /// Points at which a rebuild can be interrupted, with the files that it leaves.
    enum BrokenRebuild: CaseIterable {
        case aside, beforeTheLog, half
    }

    @Test(arguments: BrokenRebuild.allCases) func aRebuildThatBreaksOffKeepsTheKeys(at point: BrokenRebuild) throws {
        let test = try StoreUnderTest(.file)
        let place = RecordKey(.setting, scope: "", key: "k")
        try commit(test, place, Bytes(state: secret))
        let files = FileManager.default
        func copy(_ name: String, as copy: String) throws {
            try files.copyItem(at: test.folder.file(name), to: test.folder.file(copy))
        }
        // The log contains the latest writes while the database is open.
        try copy("store.sqlite", as: "store.sqlite.former")
        try copy("store.sqlite-wal", as: "log")
        test.store.close()
        try files.removeItem(at: test.folder.file("store.sqlite"))
        switch point {
        case .aside: try copy("log", as: "store.sqlite.former-wal")
        case .beforeTheLog: try copy("log", as: "store.sqlite-wal")
        case .half:
            try copy("log", as: "store.sqlite.former-wal")
            try Data("half of a database".utf8).write(to: test.folder.file("store.sqlite"))
        }
        let session = try test.store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
        #expect(session.rebuildReason != nil)
        #expect(try records(test).record(place) == secret)
        #expect(!files.fileExists(atPath: test.folder.file("store.sqlite.former").path))
        #expect(!files.fileExists(atPath: test.folder.file("store.sqlite.former-wal").path))
        try test.reopenIfPermanent()
        #expect(try records(test).record(place) == secret)
    }

    /// An unreadable disk page loses only the keys on it.
    @Test func aDamagedPageTakesFewKeys() throws {
        let count = 120
        let sound = try StoreUnderTest(.file)
        for number in 0..<count {
            let text = String(repeating: "\(number) ", count: 200)
            try commit(sound, RecordKey(.setting, scope: "s", key: "\(number)"), Bytes(state: SecretBytes(text.utf8)))
        }
        sound.store.close()
        let database = try DatabaseQueue(path: sound.folder.file("store.sqlite").path)
        try database.write { try $0.execute(sql: "DROP TABLE receipt") }
        try database.close()
        let bytes = try Data(contentsOf: sound.folder.file("store.sqlite"))
        var kept: [Int] = []
        for page in 1..<bytes.count / 4096 {
            let test = try StoreUnderTest(.file)
            test.store.close()
            var damaged = bytes
            damaged.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(count: 4096))
            try damaged.write(to: test.folder.file("store.sqlite"))
            _ = try test.store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
            kept.append(try records(test).records(.setting, scope: "s").count)
        }
        #expect(kept.count > 30)
        // Losing one of the few pages that lead to others, or that name the owner, costs more.
        #expect(kept.filter { $0 >= count - 20 }.count >= kept.count - 6, "\(kept)")
    }

    /// 20 kB of garbage in the middle of the file, as from a bad disk: the loss is reported, and so is what was
    /// rescued.
    @Test(arguments: [0, 1, 200])
    func garbageInTheMiddleIsReported(keys: Int) throws {
        let test = try StoreUnderTest(.file)
        for number in 0..<keys {
            // Each within one page: SQLite does not notice garbage in the further pages of a long record.
            let text = String(repeating: "\(number) ", count: 100)
            try commit(
                test, RecordKey(.inboundSession, scope: "!r", key: "\(number)"), Bytes(state: SecretBytes(text.utf8)))
        }
        var changes = MXStoreChanges()
        changes.syncToken = "s"
        var room = MXStoreChanges.Room()
        room.timeline = (0..<900).messages
        room.state = (0..<900).map { .state("m.room.member", key: "@\($0)") }
        changes.rooms["!r"] = room
        try test.store.commit(changes)
        test.store.close()
        let file = test.folder.file("store.sqlite")
        var bytes = try Data(contentsOf: file)
        let start = bytes.count / 2
        bytes.replaceSubrange(
            start..<start + 20_000, with: Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 * 7) }))
        try bytes.write(to: file)
        // The position of the garbage decides when it is found; the store is then marked, and the next opening reports
        // it.
        let store = MXFileStore(folder: test.folder.url)
        var session = try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
        if session.rebuildReason == nil {
            _ = try? store.state(of: "!r")
            _ = try? store.events(in: "!r", before: nil, limit: .max)
            _ = try? (0..<keys).map { try store.record(RecordKey(.inboundSession, scope: "!r", key: "\($0)")) }
            store.close()
            #expect(throws: MatrixError.self) {
                try MXFileStore.stored(of: StoreUnderTest.userId, deviceId: "DEVICE", in: test.folder.url)
            }
            session = try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
        }
        let reason = try #require(session.rebuildReason)
        #expect(store.damageReport == reason)
        #expect(reason.contains("damaged") && reason.contains("not sent are lost"))
        let rescued = try store.records(.inboundSession, scope: "!r").count
        switch rescued {
        case 0: #expect(reason.contains("no keys in it") == (keys == 0) && reason.contains("are lost"), "\(reason)")
        default: #expect(reason.contains("\(rescued) \(rescued == 1 ? "key" : "keys") of encrypted rooms"), "\(reason)")
        }
        store.close()
        _ = try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
        #expect(store.damageReport == nil)
        store.close()
    }

    // MARK: Copies

    private func isMarkedAsCopy(_ store: MXFileStore) throws -> Bool {
        try store.record(CryptoMachine.copyMark.place) != nil
    }

    private func withKeys() throws -> StoreUnderTest {
        let test = try StoreUnderTest(.file)
        var turn = CryptoTurn(Records(MemoryRecords()), now: 0, random: .system)
        _ = try CryptoMachine(me: DeviceAddress(StoreUnderTest.userId, "DEVICE"), &turn)
        var changes = MXStoreChanges()
        changes.encryption.add(turn.records)
        try test.store.commit(changes)
        return test
    }

    @Test func aStoreThatStaysWhereItIsIsNoCopy() throws {
        let test = try withKeys()
        for _ in 0..<3 { try test.reopenIfPermanent() }
        #expect(try !isMarkedAsCopy(#require(test.store as? MXFileStore)))
    }

    /// A copy of the whole folder, or of the database alone from before the last opening.
    @Test(arguments: [true, false]) func aCopyIsKnown(isWhole: Bool) throws {
        let (test, other) = (try withKeys(), try TemporaryFolder())
        test.store.close()
        let names = ["store.sqlite", "lock"]
        func copy(_ from: TemporaryFolder, _ to: TemporaryFolder, _ names: [String]) throws {
            try FileManager.default.createDirectory(
                at: to.file("x").deletingLastPathComponent(), withIntermediateDirectories: true)
            for name in names {
                try? FileManager.default.removeItem(at: to.file(name))
                try FileManager.default.copyItem(at: from.file(name), to: to.file(name))
            }
        }
        try copy(test.folder, other, names)
        if isWhole {
            let store = MXFileStore(folder: other.url)
            _ = try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
            #expect(try isMarkedAsCopy(store))
            store.close()
        } else {
            for _ in 0..<2 {
                try test.reopenIfPermanent()
                test.store.close()
            }
            try copy(other, test.folder, ["store.sqlite"])
            try test.reopenIfPermanent()
            #expect(try isMarkedAsCopy(#require(test.store as? MXFileStore)))
        }
    }

    /// As after a crash between writing the database and writing the lock file.
    @Test func anOpeningThatBreaksOffIsNoCopy() throws {
        let test = try withKeys()
        test.store.close()
        let lock = try Data(contentsOf: test.folder.file("lock"))
        try test.reopenIfPermanent()
        test.store.close()
        let file = try FileHandle(forWritingTo: test.folder.file("lock"))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: lock)
        try file.close()
        try test.reopenIfPermanent()
        #expect(try !isMarkedAsCopy(#require(test.store as? MXFileStore)))
    }
}
