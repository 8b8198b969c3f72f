import TestSupport
import Testing

@testable import PydioProtocol

/// A mailbox and a WebSocket deliver the same messages in the same order; each counts once.
struct SocketBacklogTests {
    private var backlog = SocketBacklog()

    private func message(_ name: String) throws -> ChannelMessage {
        let list = try ChannelMessage.list(in: XMLReader.read(Array("<tree><\(name)/></tree>".utf8)))
        return try #require(list?.first)
    }

    private func messages(_ names: String) throws -> [ChannelMessage] {
        try names.map { try message("x\($0)") }
    }

    /// - Returns: The messages that count now.
    private mutating func heard(_ names: String) throws -> [ChannelMessage] {
        try messages(names).filter { backlog.isToBeTaken($0) }
    }

    private mutating func consumed(_ names: String) throws {
        backlog.consumed(try messages(names))
    }

    @Test mutating func whatTheMailboxHasBroughtCountsOnce() throws {
        #expect(try heard("cde") == [])
        try consumed("abcd")
        #expect(try backlog.takeOver() == messages("e"))
        #expect(try heard("f") == messages("f"))
    }

    @Test mutating func aWebSocketThatIsBehindBringsTheRestAsEcho() throws {
        #expect(try heard("b") == [])
        try consumed("abcd")
        #expect(backlog.takeOver() == [])
        #expect(try heard("cde") == messages("e"))
        #expect(try heard("d") == messages("d"))  // a later message with the same content
    }

    /// The WebSocket delivered messages that the mailbox did not contain when it was consumed: each counts once.
    @Test mutating func whatTheWebSocketBringsBeyondTheMailboxWaits() throws {
        #expect(try heard("cdef") == [])
        try consumed("bcd")
        #expect(try backlog.takeOver() == messages("ef"))
        backlog.handBack()
        #expect(try heard("xyz") == [])
        try consumed("ab")
        #expect(try backlog.takeOver() == messages("xyz"))
        #expect(try heard("a") == messages("a"))
    }

    @Test mutating func withNothingHeardEverythingConsumedMayCome() throws {
        try consumed("ab")
        #expect(backlog.takeOver() == [])
        #expect(try heard("abc") == messages("c"))
    }

    @Test mutating func anEchoIsWaitedForUntilAPingIsAnswered() throws {
        try consumed("abc")
        _ = backlog.takeOver()
        #expect(try heard("ab") == [])
        let isPast = backlog.answered()
        #expect(isPast)
        #expect(try heard("c") == messages("c"))
    }

    @Test mutating func whatWasConsumedTwiceBeforeMayAllCome() throws {
        try consumed("ab")
        try consumed("c")
        #expect(backlog.takeOver() == [])
        #expect(try heard("abcd") == messages("d"))
    }

    /// Messages in the mailbox that the WebSocket has not delivered yet are echoes, wherever they are.
    @Test func whereMessagesMeetIsFoundAsBySearchingEverywhere() throws {
        var random = XorShift(seed: 1)
        for _ in 0..<2000 {
            func letters(_ most: Int, _ random: inout XorShift) -> String {
                String(
                    (0..<Int.random(in: 0...most, using: &random)).map { _ in Bool.random(using: &random) ? "a" : "b" })
            }
            let (waiting, consumed) = (letters(4, &random), letters(8, &random))
            var backlog = SocketBacklog()
            for message in try messages(waiting) { _ = backlog.isToBeTaken(message) }
            backlog.consumed(try messages(consumed))
            let isContained = consumed.isEmpty ? waiting.isEmpty : consumed.contains(waiting) || waiting.isEmpty
            let overlap = (0...waiting.count).last { consumed.hasSuffix(waiting.prefix($0)) } ?? 0
            let left = isContained ? "" : String(waiting.dropFirst(consumed.isEmpty ? 0 : overlap))
            #expect(try backlog.takeOver() == messages(left), "\(waiting) \(consumed)")
        }
    }

    /// A server decides how long both are.
    @Test func manyMessagesThatAreAlikeCostLittle() throws {
        var backlog = SocketBacklog()
        let (one, two) = (try message("one"), try message("two"))
        for _ in 1..<SocketBacklog.maximumCount { _ = backlog.isToBeTaken(one) }
        _ = backlog.isToBeTaken(two)
        let time = cpuTime { backlog.consumed(Array(repeating: one, count: 100_000)) }
        #expect(time < .seconds(20))  // a billion comparisons would take minutes
        #expect(backlog.takeOver().count == 1)
    }

    @Test mutating func emptyConsumingChangesNothing() throws {
        #expect(try heard("a") == [])
        try consumed("")
        #expect(try backlog.takeOver() == messages("a"))
    }

    @Test mutating func aListingHasWhatHasHappenedToNodes() throws {
        let diff = try #require(
            ChannelMessage.list(
                in: XMLReader.read(
                    Array(#"<tree><nodes_diff><add><tree filename="/a"/></add></nodes_diff></tree>"#.utf8)))?.first)
        #expect(backlog.isToBeTaken(diff) == false)
        #expect(try heard("a") == [])
        backlog.listingBegins()
        #expect(try backlog.takeOver() == messages("a"))
        #expect(backlog.isToBeTaken(diff) == true)
    }

    @Test mutating func theOldestAreInTheMailboxAllTheSame() throws {
        let one = try message("one")
        let two = try message("two")
        _ = backlog.isToBeTaken(one)
        for _ in 0..<SocketBacklog.maximumCount { _ = backlog.isToBeTaken(two) }
        let waiting = backlog.takeOver()
        #expect(waiting.count == SocketBacklog.maximumCount && !waiting.contains(one))
    }

    @Test mutating func handedBackItWaitsAgain() throws {
        _ = backlog.takeOver()
        #expect(backlog.takeOver() == [])
        backlog.handBack()
        #expect(try heard("a") == [])
        backlog.handBack()
        #expect(try backlog.takeOver() == messages("a"))
    }
}
