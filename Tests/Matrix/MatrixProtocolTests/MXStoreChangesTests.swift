import MatrixProtocol
import Testing

struct MXStoreChangesTests {
    @Test func anyChangeIsSomethingToCommit() throws {
        let outgoing = MXOutgoingEvent(
            transactionId: "t", roomId: "!r:s", type: "m.room.message", content: "{}", localEventId: "l", ts: 1,
            state: .preparing)
        let event = try MXEvent.make()
        let changes: [(inout MXStoreChanges) -> Void] = [
            { $0.replacesEverything = true }, { $0.rooms["!r:s"] = .init() }, { $0.accountData = [event] },
            { $0.presence = [event] }, { $0.outgoing = [outgoing] }, { $0.sentOutgoing = ["t"] },
            { $0.syncToken = "s" },
        ]
        #expect(MXStoreChanges().isEmpty)
        for change in changes {
            var all = MXStoreChanges()
            change(&all)
            #expect(!all.isEmpty)
        }
    }
}
