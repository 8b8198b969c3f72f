import Foundation
import GRDB
import MatrixProtocol
import Testing

@testable import MatrixSDK

/// Damaged and foreign databases.
struct StoreDamageTests {
    /// A closed store with `count` events in a room.
    private func makeClosed(events count: Int = 100) throws -> StoreUnderTest {
        let test = try StoreUnderTest(.file)
        var changes = MXStoreChanges()
        changes.syncToken = "s"
        var room = MXStoreChanges.Room()
        room.summary = MXRoomSummary(roomId: "!r")
        room.timeline = (0..<count).messages
        room.state = (0..<count).map { .state("m.room.member", key: "@\($0)") }
        changes.rooms["!r"] = room
        try test.store.commit(changes)
        test.store.close()
        return test
    }

    private func open(
        _ test: StoreUnderTest, migrator: DatabaseMigrator = StoreSchema.migrator
    ) throws -> (MXFileStore, MXStoredSession) {
        let store = MXFileStore(folder: test.folder.url, migrator: migrator)
        return (store, try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE"))
    }

    /// Expects the store to be as good as new.
    private func expectRebuilt(_ test: StoreUnderTest, sourceLocation: SourceLocation = #_sourceLocation) throws {
        do {
            let (store, session) = try open(test)
            #expect(session.rebuildReason != nil, sourceLocation: sourceLocation)
            #expect(session.syncToken == nil && session.summaries.isEmpty, sourceLocation: sourceLocation)
            var changes = MXStoreChanges()
            changes.syncToken = "new"
            try store.commit(changes)
        }
        let (_, session) = try open(test)
        #expect(session.rebuildReason == nil, sourceLocation: sourceLocation)
        #expect(session.syncToken == "new", sourceLocation: sourceLocation)
    }

    private func execute(_ test: StoreUnderTest, _ sql: String) throws {
        let database = try DatabaseQueue(path: test.folder.file("store.sqlite").path)
        try database.write { try $0.execute(sql: sql) }
        try database.close()
    }

    @Test func garbageIsBuiltAnew() throws {
        let test = try makeClosed()
        try Data(repeating: 0x5A, count: 5000).write(to: test.folder.file("store.sqlite"))
        try expectRebuilt(test)
    }

    @Test func aTruncatedFileIsBuiltAnew() throws {
        let test = try makeClosed()
        let handle = try FileHandle(forWritingTo: test.folder.file("store.sqlite"))
        try handle.truncate(atOffset: 5000)
        try handle.close()
        try expectRebuilt(test)
    }

    @Test(arguments: [
        "DROP TABLE event", "DROP TABLE meta", "DROP TABLE room", "DROP INDEX event_by_id",
        "ALTER TABLE state DROP COLUMN json", "DELETE FROM meta WHERE name = 'user_id'",
        "UPDATE room SET summary = x'00'", "UPDATE room SET stripped_state = 'no'",
        "INSERT INTO account_data VALUES (0, 't', 'not JSON')", "INSERT INTO presence VALUES ('@a', 7)",
        "INSERT INTO outgoing (transaction_id, room_id, json) VALUES ('t', '!r', '{}')",
    ])
    func whatIsNotOurSchemaOrNotReadableIsBuiltAnew(sql: String) throws {
        let test = try makeClosed()
        try execute(test, sql)
        try expectRebuilt(test)
    }

    @Test func anotherProgramsDatabaseIsBuiltAnew() throws {
        let test = try makeClosed()
        try FileManager.default.removeItem(at: test.folder.file("store.sqlite"))
        try execute(test, "CREATE TABLE room (id INTEGER PRIMARY KEY, name TEXT)")
        try expectRebuilt(test)
    }

    @Test func damageThatIsMetLaterFailsUntilTheStoreIsOpenedAgain() throws {
        let test = try makeClosed()
        try execute(test, "UPDATE event SET json = 'no JSON' WHERE event_id = '$50'")
        let (store, session) = try open(test)
        #expect(session.rebuildReason == nil)
        #expect(try store.events(in: "!r", before: nil, limit: 10).count == 10)
        let error = #expect(throws: MatrixError.self) { try store.events(in: "!r", before: nil, limit: 90) }
        #expect(error?.code == .store)
        #expect(error?.message.contains("is damaged. It will be rebuilt") == true)
        #expect(throws: MatrixError.self) { try store.state(of: "!r") }
        var changes = MXStoreChanges()
        changes.syncToken = "x"
        #expect(throws: MatrixError.self) { try store.commit(changes) }
        store.close()
        try expectRebuilt(test)
    }

    /// Random changes of bytes in the middle of the file never cause a crash, and errors are ours.
    @Test(arguments: 0..<40)
    func flippedBytesNeverCrash(seed: UInt64) throws {
        let test = try makeClosed(events: 300)
        var random = Generator(state: seed)
        var bytes = try Data(contentsOf: test.folder.file("store.sqlite"))
        for _ in 0..<(seed % 4 == 0 ? 3 : 200) {
            bytes[Int.random(in: 100..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        try bytes.write(to: test.folder.file("store.sqlite"))
        let store = MXFileStore(folder: test.folder.url)
        do {
            _ = try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
            _ = try store.events(in: "!r", before: nil, limit: .max)
            _ = try store.state(of: "!r")
            _ = try store.receipts(in: "!r")
            var changes = MXStoreChanges()
            changes.rooms["!r"] = MXStoreChanges.Room()
            changes.rooms["!r"]?.timeline = (0..<600).messages
            try store.commit(changes)
        } catch {
            #expect(error.code == .store)
        }
        store.close()
        // In the end there is always a working store.
        let (again, _) = try open(test)
        again.close()
    }

    // MARK: Versions

    private var nextVersion: DatabaseMigrator {
        var migrator = StoreSchema.migrator
        migrator.registerMigration("a made-up later one") { database in
            try database.execute(sql: "ALTER TABLE event ADD COLUMN made_up TEXT NOT NULL DEFAULT 'x'")
            try database.execute(sql: "ALTER TABLE event DROP COLUMN made_up")
            try database.execute(sql: "CREATE TABLE made_up (x)")
        }
        return migrator
    }

    @Test func anOlderVersionIsMigratedWithAllThatIsInIt() throws {
        let test = try makeClosed()
        let (store, session) = try open(test, migrator: nextVersion)
        #expect(session.rebuildReason == nil)
        #expect(session.syncToken == "s")
        #expect(try store.events(in: "!r", before: nil, limit: 1000).count == 100)
        store.close()
        let database = try DatabaseQueue(path: test.folder.file("store.sqlite").path)
        #expect(try database.read { try $0.tableExists("made_up") })
    }

    @Test func aNewerVersionIsRefusedAndLeftAlone() throws {
        let test = try makeClosed()
        try open(test, migrator: nextVersion).0.close()
        let error = #expect(throws: MatrixError.self) { try open(test) }
        #expect(error?.code == .store)
        #expect(error?.message.contains("newer version") == true)
        #expect(try open(test, migrator: nextVersion).1.syncToken == "s")
    }

    @Test func aMigrationThatFailsLeavesAllAsItWas() throws {
        let test = try makeClosed()
        var migrator = StoreSchema.migrator
        migrator.registerMigration("no room") { database in
            try database.execute(sql: "DELETE FROM event")
            throw DatabaseError(resultCode: .SQLITE_FULL)
        }
        let error = #expect(throws: MatrixError.self) { try open(test, migrator: migrator) }
        #expect(error?.message.contains("make room on the disk") == true)
        let (store, session) = try open(test)
        #expect(session.syncToken == "s")
        #expect(try store.events(in: "!r", before: nil, limit: 1000).count == 100)
    }

    /// Summaries of an earlier version lack a property that a later one adds.
    @Test func aSummaryWithoutANewPropertyTakesItsDefault() throws {
        let test = try makeClosed()
        try execute(test, #"UPDATE room SET summary = '{"roomId":"!r","displayName":"Old","unheardOf":1}'"#)
        let (_, session) = try open(test)
        #expect(session.rebuildReason == nil)
        #expect(session.summaries.map(\.displayName) == ["Old"])
    }

    @Test func aBackupOfTheDatabaseAloneIsSound() throws {
        let test = try makeClosed()
        #expect(!FileManager.default.fileExists(atPath: test.folder.file("store.sqlite-wal").path))
        #expect(try open(test).1.syncToken == "s")
    }
}

private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) ^ state
    }
}
