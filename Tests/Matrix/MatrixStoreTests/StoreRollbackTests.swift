import Foundation
import GRDB
import MatrixProtocol
import Testing

@testable import MatrixSDK

/// A database that fails in the middle of a commit: the whole commit is undone.
struct StoreRollbackTests {
    private static func first() -> MXStoreChanges {
        var changes = MXStoreChanges()
        var room = MXStoreChanges.Room()
        room.summary = MXRoomSummary(roomId: "!r")
        room.timeline = [.message("$1"), .message("$2")]
        room.timelineToken = "t1"
        room.state = [.state("m.room.topic", content: #"{"topic":"old"}"#)]
        room.receipts = [MXReceipt(userId: "@b", eventId: "$1")]
        room.accountData = [.data("m.tag")]
        changes.rooms = ["!r": room, "!gone": room]
        changes.accountData = [.data("m.direct")]
        changes.presence = [.data("m.presence", sender: "@b")]
        changes.outgoing = [outgoing("t1"), outgoing("t2")]
        changes.toDevice = [MXToDeviceMessage(id: "1", event: .data("m.one"))]
        changes.syncToken = "s1"
        return changes
    }

    /// Writes to every table in every way that a sync does.
    private static func second() -> MXStoreChanges {
        var changes = MXStoreChanges()
        var room = MXStoreChanges.Room()
        room.summary = MXRoomSummary(roomId: "!r")
        room.timeline = [.message("$3")]
        room.replaced = [.message("$1", body: "")]
        room.state = [.state("m.room.topic", content: #"{"topic":"new"}"#), .state("m.room.name")]
        room.receipts = [MXReceipt(userId: "@b", eventId: "$3"), MXReceipt(userId: "@c", eventId: "$3")]
        room.accountData = [.data("m.tag", content: #"{"tags":{}}"#)]
        var gone = MXStoreChanges.Room()
        gone.isRemoved = true
        changes.rooms = ["!r": room, "!new": room, "!gone": gone]
        changes.accountData = [.data("m.direct", content: #"{"@b":[]}"#), .data("m.push_rules")]
        changes.presence = [.data("m.presence", content: "{}", sender: "@c")]
        changes.outgoing = [outgoing("t2"), outgoing("t3")]
        changes.sentOutgoing = ["t1"]
        changes.toDevice = [MXToDeviceMessage(id: "2", event: .data("m.two"))]
        changes.toldToDevice = ["1"]
        changes.syncToken = "s2"
        return changes
    }

    private static func outgoing(_ transaction: String) -> MXOutgoingEvent {
        MXOutgoingEvent(
            transactionId: transaction, roomId: "!r", type: "m.room.message", content: "{}",
            localEventId: MXEvent.localEventIdPrefix + transaction, ts: 1, state: .failed)
    }

    private func withDatabase<Value>(_ test: StoreUnderTest, _ body: (Database) throws -> Value) throws -> Value {
        let database = try DatabaseQueue(path: test.folder.file("store.sqlite").path)
        defer { try? database.close() }
        return try database.write(body)
    }

    private func dump(_ test: StoreUnderTest) throws -> [String] {
        try withDatabase(test) { database in
            try StoreSchema.tables.flatMap { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table)").map { "\(table) \($0.description)" }.sorted()
            }
        }
    }

    @Test(arguments: StoreSchema.tables.filter { $0 != "filter" }, ["INSERT", "UPDATE", "DELETE"])
    func aCommitThatFailsAtAnyTableLeavesAllAsItWas(table: String, operation: String) throws {
        let test = try StoreUnderTest(.file)
        try test.store.commit(Self.first())
        test.store.close()
        let before = try dump(test)
        try withDatabase(test) { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER failing AFTER \(operation) ON \(table)
                    BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END
                    """)
        }
        let store = MXFileStore(folder: test.folder.url)
        _ = try store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
        let outcome = Result { try store.commit(Self.second()) }
        store.close()
        try withDatabase(test) { try $0.execute(sql: "DROP TRIGGER failing") }
        let isTouched = Self.touched.contains("\(operation) \(table)")
        switch outcome {
        case .success: #expect(!isTouched)
        case .failure:
            #expect(isTouched)
            #expect(try dump(test) == before)
        }
    }

    /// The database operations of the second commit.
    private static let touched: Set = [
        "INSERT meta", "INSERT room", "UPDATE room", "DELETE room", "INSERT event", "UPDATE event", "DELETE event",
        "INSERT state", "DELETE state", "INSERT receipt", "DELETE receipt", "INSERT account_data",
        "DELETE account_data", "INSERT presence", "INSERT outgoing", "UPDATE outgoing", "DELETE outgoing",
        "INSERT to_device",
        "DELETE to_device",
    ]
}
