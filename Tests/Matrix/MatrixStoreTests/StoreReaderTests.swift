import Basics
import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixSDK

/// Reading a store that another process owns.
struct StoreReaderTests {
    private let user = StoreUnderTest.userId

    private func changes(token: String, event: String) -> MXStoreChanges {
        var changes = MXStoreChanges()
        var room = MXStoreChanges.Room()
        room.summary = MXRoomSummary(roomId: "!r")
        room.state = [.state("m.room.name")]
        room.timeline = [.message(event)]
        room.receipts = [MXReceipt(userId: "@b", eventId: "$1")]
        changes.rooms["!r"] = room
        changes.syncToken = token
        return changes
    }

    @Test func aCopyIsAsOfOneMoment_andItsOwnerGoesOn() throws {
        let folder = try TemporaryFolder()
        let owner = MXFileStore(folder: folder.url, eventsPerRoom: 10, allowsReaders: true)
        func copy(device: String? = "D") throws -> (store: MXMemoryStore, notes: [String: String])? {
            let copy = try MXFileStore.copy(
                of: user, deviceId: device, in: folder.url, eventsPerRoom: 10, notes: ["a", "b"])
            return copy.map { ($0.store, $0.notes) }
        }
        #expect(try copy() == nil)
        _ = try owner.open(userId: user, deviceId: "D")
        #expect(try copy() == nil)  // nothing was synced
        try owner.commit(changes(token: "s1", event: "one"))
        try owner.setNote("a", "note")

        let copied = try #require(try copy())
        try owner.commit(changes(token: "s2", event: "two"))
        let session = try copied.store.open(userId: user, deviceId: "D")
        #expect(session.syncToken == "s1")
        #expect(session.summaries.map(\.roomId) == ["!r"])
        #expect(try copied.store.state(of: "!r").map(\.type) == ["m.room.name"])
        #expect(try copied.store.events(in: "!r", before: nil, limit: 9).map(\.eventId) == ["one"])
        #expect(try copied.store.receipts(in: "!r").map(\.userId) == ["@b"])
        #expect(copied.notes == ["a": "note"])
        #expect(try MXFileStore.stored(of: user, deviceId: "D", in: folder.url)?.syncToken == "s2")
        #expect(try copy(device: "OTHER") == nil)
        try owner.setNote("a", nil)
        #expect(try owner.note("a") == nil)
    }

    @Test func aStoreWithoutReadersIsNotRead_andSaysSo() throws {
        let folder = try TemporaryFolder()
        let owner = MXFileStore(folder: folder.url)
        _ = try owner.open(userId: user, deviceId: "D")
        try owner.commit(changes(token: "s1", event: "one"))
        #expect(throws: MatrixError.self) { try MXFileStore.stored(of: user, deviceId: "D", in: folder.url) }
        owner.close()
        #expect(try MXFileStore.stored(of: user, deviceId: "D", in: folder.url)?.syncToken == "s1")
    }

    @Test func whoOwnsAStoreIsKnown_andItIsDeletedAllTheSame() throws {
        let folder = try TemporaryFolder()
        #expect(MXFileStore.ownership(of: user, in: folder.url) == .free)
        let owner = MXFileStore(folder: folder.url, eventsPerRoom: 10, allowsReaders: true)
        _ = try owner.open(userId: user, deviceId: "D")
        #expect(MXFileStore.ownership(of: user, in: folder.url) == .owned(process: getpid()))
        try owner.commit(changes(token: "s1", event: "one"))
        try MXFileStore.delete(of: user, in: folder.url)
        #expect(!MXFileStore.exists(for: user, in: folder.url))
        // Another reader starts there, unaffected by the first.
        let next = MXFileStore(folder: folder.url, eventsPerRoom: 10, allowsReaders: true)
        #expect(try next.open(userId: user, deviceId: "D").syncToken == nil)
        try owner.commit(changes(token: "s2", event: "two"))
        try next.commit(changes(token: "n1", event: "one"))
        owner.close()
        next.close()
        #expect(try MXFileStore.stored(of: user, deviceId: "D", in: folder.url)?.syncToken == "n1")
    }

    @Test(.regression("A command that asked who owned a store kept another from opening it."))
    func whoAsksForTheOwnerKeepsNobodyOut() throws {
        let folder = try TemporaryFolder()
        let store = MXFileStore(folder: folder.url, eventsPerRoom: 10, allowsReaders: true)
        _ = try store.open(userId: user, deviceId: "D")
        store.close()
        let (url, user, asked, isOver) = (folder.url, user, Lock(0), Lock(false))
        let asker = Thread {
            while !isOver.withLock({ $0 }) {
                _ = MXFileStore.ownership(of: user, in: url)
                asked.withLock { $0 += 1 }
            }
        }
        asker.start()
        defer { isOver.withLock { $0 = true } }
        var opened = 0
        while opened < 200 || asked.withLock({ $0 < 20_000 }) {
            _ = try store.open(userId: user, deviceId: "D")
            store.close()
            opened += 1
        }
    }

    @Test func theOwnerOfAStoreThatIsGoneDeletesNoOther() throws {
        let folder = try TemporaryFolder()
        let owner = MXFileStore(folder: folder.url, eventsPerRoom: 10, allowsReaders: true)
        _ = try owner.open(userId: user, deviceId: "D")
        try MXFileStore.delete(of: user, in: folder.url)
        let next = MXFileStore(folder: folder.url, eventsPerRoom: 10, allowsReaders: true)
        _ = try next.open(userId: user, deviceId: "NEW")
        try next.commit(changes(token: "n1", event: "one"))
        try owner.deleteAllData()
        #expect(try MXFileStore.stored(of: user, deviceId: "NEW", in: folder.url)?.syncToken == "n1")
        // No other process gets access.
        #expect(MXFileStore.ownership(of: user, in: folder.url) == .owned(process: getpid()))
        try next.deleteAllData()
        #expect(!MXFileStore.exists(for: user, in: folder.url))
    }

    @Test func receiptsOfOneUserAreFound() throws {
        for make in StoreUnderTest.Make.allCases {
            let test = try StoreUnderTest(make)
            try test.commit {
                $0.receipts = [
                    MXReceipt(userId: "@a", eventId: "$1"), MXReceipt(userId: "@b", eventId: "$2"),
                    MXReceipt(userId: "@a", eventId: "$3", threadId: "$root"),
                ]
            }
            #expect(Set(try test.store.receipts(in: "!r", of: "@a").map(\.eventId)) == ["$1", "$3"])
            #expect(try test.store.receipts(in: "!r", of: "@c").isEmpty)
        }
    }
}
