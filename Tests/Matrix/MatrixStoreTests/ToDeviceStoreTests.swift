import Foundation
import GRDB
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixSDK

/// Messages to this device that are stored until they are delivered.
struct ToDeviceStoreTests {
    private func message(_ id: String) -> MXToDeviceMessage {
        MXToDeviceMessage(id: id, event: .data("m.room_key", content: #"{"id":"\#(id)"}"#, sender: "@b:s"))
    }

    private func open(_ test: StoreUnderTest) throws -> MXStoredSession {
        test.store.close()
        return try test.store.open(userId: StoreUnderTest.userId, deviceId: "DEVICE")
    }

    private func commit(_ test: StoreUnderTest, _ change: (inout MXStoreChanges) -> Void) throws {
        var changes = MXStoreChanges()
        change(&changes)
        try test.store.commit(changes)
    }

    @Test func theyAreKeptInTheirOrderUntilTheyAreTold() throws {
        let test = try StoreUnderTest(.file)
        try commit(test) { $0.toDevice = ["s1 0", "s1 1"].map(message) }
        try commit(test) { $0.toDevice = ["s2 0"].map(message) }
        #expect(try open(test).toDevice == ["s1 0", "s1 1", "s2 0"].map(message))
        try commit(test) { $0.toldToDevice = ["s1 0", "s2 0", "unknown"] }
        #expect(try open(test).toDevice == [message("s1 1")])
        try commit(test) { $0.toDevice = [message("s3 0")] }
        #expect(try open(test).toDevice == ["s1 1", "s3 0"].map(message))
    }

    @Test func theSameCommitAgainKeepsNoneTwice() throws {
        let test = try StoreUnderTest(.file)
        for _ in 1...2 { try commit(test) { $0.toDevice = ["s1 0", "s1 1"].map(message) } }
        #expect(try open(test).toDevice.map(\.id) == ["s1 0", "s1 1"])
    }

    /// The server does not send them again, not even in the answer to a first sync.
    @Test func beginningAnewKeepsThem() throws {
        let test = try StoreUnderTest(.file)
        try commit(test) { $0.toDevice = [message("s1 0")] }
        try commit(test) {
            $0.replacesEverything = true
            $0.toDevice = [message("t1 0")]
        }
        #expect(try open(test).toDevice.map(\.id) == ["s1 0", "t1 0"])
    }

    @Test func aDatabaseOfTheFirstVersionIsMigratedWithAllThatIsInIt() throws {
        let test = try StoreUnderTest(.file)
        try test.store.deleteAllData()
        let file = test.folder.file("store.sqlite")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let old = try DatabaseQueue(path: file.path)
        let dump = try Fixtures.text("matrix/store-1.sql")
            .replacing("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;", with: "").replacing("COMMIT;", with: "")
        try old.write { try $0.execute(sql: dump) }
        try old.close()
        let session = try open(test)
        #expect(session.rebuildReason == nil && session.syncToken == "s6" && session.toDevice.isEmpty)
        #expect(session.summaries.map(\.roomId) == ["!3:example.org"])
        #expect(session.outgoing.map(\.transactionId) == ["t1", "t3"])
        #expect(try test.timeline("!3:example.org") == ["$1-3-0", "$1-3-1", "$1-3-2"])
        #expect(try test.store.state(of: "!3:example.org").count == 4)
        try commit(test) { $0.toDevice = [message("s7 0")] }
        #expect(try open(test).toDevice == [message("s7 0")])
    }
}
