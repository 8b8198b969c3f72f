import Foundation
import GRDB
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixSDK

/// Keys that lie in a store, and events that were decrypted.
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

    /// Bytes as they are.
    private struct Bytes: MatrixEncryption.Record {
        static let kind = RecordKind.setting
        let state: SecretBytes
        init(state: SecretBytes) { self.state = state }
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func recordsAreKeptByExactlyTheirNames_inTheOrderOfTheirBytes(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        // Two that Swift takes for the same text, and one with a zero.
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

    /// The homeserver sends no key twice.
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
        // The key has come.
        let readable = try event("$0").withDecrypted(clear)
        try test.commit { $0.replaced = [readable] }
        try test.reopenIfPermanent()
        #expect(try test.store.event("$0", in: "!r")?.contentJSON["body"]?.string == "hi")
    }

    @Test func aDatabaseOfTheVersionBeforeIsMigratedWithAllThatIsInIt() throws {
        let folder = try TemporaryFolder()
        let user = "@kill:example.org"
        let file = folder.url.appending(path: StoreFolder.fileName(of: user)).appending(path: "store.sqlite")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let old = try DatabaseQueue(path: file.path)
        let dump = try Fixtures.text("matrix/store-2.sql").replacing("BEGIN TRANSACTION;", with: "")
            .replacing("COMMIT;", with: "")
        try old.write { try $0.execute(sql: dump) }
        try old.close()
        let store = MXFileStore(folder: folder.url)
        let session = try store.open(userId: user, deviceId: "DEVICE")
        #expect(session.rebuildReason == nil && session.syncToken == "s1" && session.summaries.count == 5)
        #expect(try store.events(in: "!3:example.org", before: nil, limit: 100).count == 27)
        #expect(session.outgoing.map(\.transactionId) == ["t1"])
        #expect(session.outgoing.allSatisfy { $0.encryptedContent == nil })
        #expect(try store.records(.setting, scope: "").isEmpty)
        store.close()
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
        // Those of another device are nobody's.
        test.store.close()
        let other = try test.store.open(userId: StoreUnderTest.userId, deviceId: "OTHER")
        #expect(other.rebuildReason != nil)
        #expect(try records(test).record(place) == nil)
    }
}
