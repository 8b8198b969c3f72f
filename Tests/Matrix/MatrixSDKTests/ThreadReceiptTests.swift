import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

/// The effect of our own read receipts on the unread count, by thread.
@Suite struct ThreadReceiptTests {
    /// A message in a thread whose root is in the room itself.
    private static func threaded(_ id: String, root: String) -> String {
        #"""
        {"type":"m.room.message","event_id":"\#(id)","sender":"@b:s","origin_server_ts":1,
        "content":{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"\#(root)"}}}
        """#
    }

    /// - Parameter thread: `nil` for the whole room.
    private static func receipt(_ event: String, thread: String?, user: String = "@a:s") -> String {
        let thread = thread.map { #","thread_id":"\#($0)""# } ?? ""
        return Sync.room(
            more: #"""
                "ephemeral":{"events":[{"type":"m.receipt","content":{"\#(event)":{"m.read":{"\#(user)":{"ts":1\#(thread)}}}}}]}
                """#)
    }

    /// Two messages in the room and two in each of two threads, interleaved.
    private func script() throws -> ModelScript {
        var script = try ModelScript()
        try script.apply(
            Sync.room(state: Sync.members),
            Sync.room(timeline: [
                Sync.message("$m1"), Self.threaded("$t1", root: "$m1"), Self.threaded("$u1", root: "$m0"),
                Sync.message("$m2"), Self.threaded("$t2", root: "$m1"), Self.threaded("$u2", root: "$m0"),
            ]))
        #expect(script.unread == 6)
        return script
    }

    @Test func aReceiptOfAThreadReadsThatThreadAlone() throws {
        var script = try script()
        try script.apply(Self.receipt("$t1", thread: "$m1"))
        #expect(script.unread == 5)
        try script.apply(Self.receipt("$t2", thread: "$m1"))
        #expect(script.unread == 4)
        // A repeated or older receipt makes nothing unread.
        try script.apply(Self.receipt("$t2", thread: "$m1"), Self.receipt("$t1", thread: "$m1"))
        #expect(script.unread == 4)
    }

    @Test func aReceiptOfTheMainTimelineLeavesThreadsUnread() throws {
        var script = try script()
        try script.apply(Self.receipt("$m2", thread: "main"))
        #expect(script.unread == 4)
        try script.apply(Self.receipt("$u2", thread: "$m0"))
        #expect(script.unread == 2)
        try script.apply(Self.receipt("$t2", thread: "$m1"))
        #expect(script.unread == 0)
    }

    @Test func aReceiptOfTheWholeRoomReadsEverythingBeforeIt() throws {
        var script = try script()
        try script.apply(Self.receipt("$m2", thread: nil))
        #expect(script.unread == 2)
        try script.apply(Self.receipt("$t2", thread: "$m1"))
        #expect(script.unread == 1)
        try script.apply(Self.receipt("$u2", thread: nil))
        #expect(script.unread == 0)
    }

    @Test func receiptsOfOneAnswerCountTogether_andThoseOfOthersDoNot() throws {
        var script = try script()
        try script.apply(Self.receipt("$u2", thread: nil, user: "@b:s"))
        #expect(script.unread == 6)
        let receipts = #"""
            "$m2":{"m.read":{"@a:s":{"ts":1,"thread_id":"main"}}},"$t2":{"m.read.private":{"@a:s":{"ts":1,"thread_id":"$m1"}}}
            """#
        try script.apply(
            Sync.room(more: #""ephemeral":{"events":[{"type":"m.receipt","content":{\#(receipts)}}]}"#))
        #expect(script.unread == 2)
    }

    @Test func messagesThatComeWithTheReceiptAreCountedByTheirThread() throws {
        var script = try script()
        let receipt = #"""
            "ephemeral":{"events":[{"type":"m.receipt","content":{"$t3":{"m.read":{"@a:s":{"ts":1,"thread_id":"$m1"}}}}}]}
            """#
        try script.apply(
            Sync.room(
                timeline: [Self.threaded("$t3", root: "$m1"), Sync.message("$m3"), Self.threaded("$t4", root: "$m1")],
                more: receipt))
        #expect(script.unread == 6)  // $m1, $u1, $m2, $u2, $m3, $t4
    }
}
