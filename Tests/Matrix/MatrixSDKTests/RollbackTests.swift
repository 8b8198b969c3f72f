import Basics
import MatrixProtocol
import MatrixSessionTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// A store that fails in the middle of an answer: the model stays as it was, or its lead is stored later.
@Suite struct RollbackTests {
    /// Everything of an account that an application can see.
    private struct Look: Equatable {
        var token: String?
        var summaries: [MXRoomSummary]
        var outgoing: [MXOutgoingEvent]
        var accountData: [String]
        var typing: [String]
        var reactions: Int?
        var topic: String?

        init(_ model: SessionModel) {
            let rooms = model.rooms.values.sorted { $0.summary.roomId < $1.summary.roomId }
            token = model.syncToken
            summaries = rooms.map(\.summary)
            outgoing = rooms.flatMap(\.outgoing)
            accountData = model.accountData.map { $0.key.string + String(decoding: $0.value.data, as: UTF8.self) }
                .sorted()
            typing = rooms.flatMap(\.typingUsers)
            topic = model.rooms["!r:s"]?.state?.event(type: "m.room.topic")?.eventId
            reactions =
                model.rooms["!r:s"]?.relations.aggregations(forEvent: "$1", original: nil, currentUser: "@a:s")?
                .reactions?.count
        }
    }

    private static let redaction =
        #"{"type":"m.room.redaction","event_id":"$r","sender":"@b:s","redacts":"$2","origin_server_ts":3,"content":{}}"#
    private static let topic =
        #"{"type":"m.room.topic","event_id":"$t","sender":"@b:s","state_key":"","content":{"topic":"new"}}"#
    private static let echo = #"""
        {"type":"m.room.message","event_id":"$own","sender":"@a:s","origin_server_ts":2,
        "content":{"msgtype":"m.text","body":"mine"},"unsigned":{"transaction_id":"txn"}}
        """#
    private static let receipt =
        #""ephemeral":{"events":[{"type":"m.receipt","content":{"$1":{"m.read":{"@a:s":{"ts":1}}}}},"#
        + #"{"type":"m.typing","content":{"user_ids":["@b:s"]}}]}"#

    /// Touches everything: two rooms, the second of them new, account data, an echo, a redaction of the last message
    /// (which makes the store look for it), receipts, relations, and a message to the device.
    private static func answer() throws -> SyncResponse {
        let room = Sync.room(
            timeline: [Sync.reaction("$x", to: "$1"), topic, echo, redaction, Sync.message("$4")], more: receipt)
        let other = #""!s:s":{"timeline":{"events":[\#(Sync.message("$5"))]}},"#
        return try SyncResponse(
            Array(
                (#"{"next_batch":"s2","account_data":{"events":[{"type":"m.direct","content":{"@b:s":["!r:s"]}}]},"#
                    + #""to_device":{"events":[{"type":"m.dummy","sender":"@b:s","content":{}}]},"#
                    + room.replacingOccurrences(of: #"{"join":{"#, with: #"{"join":{"# + other) + "}").utf8))
    }

    /// An account with a room and a pending message.
    private func opened() throws -> (StoredAccount, ProbedStore) {
        let (account, store) = (StoredAccount(), ProbedStore())
        _ = try account.open(store, userId: "@a:s", deviceId: nil) { true }
        let first = Sync.room(state: Sync.members, timeline: [Sync.message("$1"), Sync.message("$2", ts: 2)])
        _ = try account.apply(
            SyncResponse(Array((#"{"next_batch":"s1","# + first + "}").utf8)), wantsAllStates: false)
        let event = MXOutgoingEvent(
            transactionId: "txn", roomId: "!r:s", type: "m.room.message", content: #"{"body":"mine"}"#,
            localEventId: MXEvent.localEventIdPrefix + "1", ts: 1, state: .sending)
        try account.change { model, _ in
            model.add(outgoing: event)
            var changes = MXStoreChanges()
            changes.outgoing = [event]
            return changes
        }
        return (account, store)
    }

    private func look(_ account: StoredAccount) throws -> Look { try #require(account.model { Look($0) }) }

    @Test func anAnswerDuringWhichTheStoreFailsChangesNothing_whereverThatIs() throws {
        let (undisturbed, quiet) = try opened()
        let calls = Lock<[ProbedStore.Call]>([])
        quiet.setProbe { call in calls.withLock { $0.append(call) } }
        _ = try undisturbed.apply(Self.answer(), wantsAllStates: false)
        let expected = try look(undisturbed)
        // All calls to the store for the answer except the last one, the commit.
        let reads = calls.withLock { $0 }.prefix { $0 != .commit }
        #expect(Set(reads).isSuperset(of: [.knownEvents, .events]), "\(reads)")
        for failing in reads.indices {
            let (account, store) = try opened()
            let before = try look(account)
            let made = Lock(0)
            store.setProbe { _ in
                let number = made.withLock { made in
                    defer { made += 1 }
                    return made
                }
                if number == failing { throw MatrixError(.store, "call \(number) fails") }
            }
            #expect(throws: MatrixError.self) { try account.apply(Self.answer(), wantsAllStates: false) }
            #expect(try look(account) == before, "call \(failing), \(reads[failing])")
            #expect(!account.hasUncommitted)
            store.setProbe(nil)
            _ = try account.apply(Self.answer(), wantsAllStates: false)
            #expect(try look(account) == expected, "after call \(failing), \(reads[failing])")
        }
    }

    @Test func anAnswerThatCannotBeCommittedIsStoredAndToldOnce_later() throws {
        let (account, store) = try opened()
        store.setFull(true)
        for _ in 0..<3 {
            #expect(throws: MatrixError.self) {
                if account.hasUncommitted {
                    _ = try account.commitNext()
                } else {
                    _ = try account.apply(Self.answer(), wantsAllStates: false)
                }
            }
        }
        #expect(try store.events(in: "!r:s", before: nil, limit: 9).map(\.eventId) == ["$2", "$1"])
        store.setFull(false)
        let told = try account.commitNext()
        #expect(told.count == 1 && told.first?.applied.changes.syncToken == "s2")
        #expect(!account.hasUncommitted)
        #expect(try store.events(in: "!r:s", before: nil, limit: 1).map(\.eventId) == ["$4"])
    }
}
