import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// Which events share a bubble, and which bubbles show a name or begin a day.
@MainActor @Suite struct BubbleGroupingTests {
    private static let hour: UInt64 = 3600

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let bubbles: [[String]]
        /// Bubbles that show the sender's name.
        let named: [Int]
        let tell: @Sendable (inout Story) throws -> Void
        var testDescription: String { name }

        init(
            _ name: String, _ bubbles: [[String]], named: [Int],
            _ tell: @escaping @Sendable (inout Story) throws -> Void
        ) { (self.name, self.bubbles, self.named, self.tell) = (name, bubbles, named, tell) }
    }

    nonisolated static let rows: [Row] = [
        Row("one sender", [["$0", "$1"]], named: [0]) { _ = try ($0.say("one"), $0.say("two")) },
        Row("two senders", [["$0"], ["$1"]], named: [0, 1]) { _ = try ($0.say("one"), $0.say("two", "@c:s")) },
        Row("renamed in between", [["$0"], ["$1"], ["$2"]], named: [0, 2]) {
            _ = try ($0.say("one"), $0.member("@b:s", name: "Robert"), $0.say("two"))
        },
        Row("another picture in between", [["$0"], ["$1"], ["$2"]], named: [0, 2]) {
            _ = try ($0.say("one"), $0.member("@b:s", name: "Bob", avatar: "mxc://s/a"), $0.say("two"))
        },
        Row("a picture between texts", [["$0"], ["$1"], ["$2"]], named: [0]) {
            _ = try ($0.say("one"), $0.add("m.room.message", "@b:s", Story.image()), $0.say("two"))
        },
        Row("an eleventh", [(0..<10).map { "$\($0)" }, ["$10"]], named: [0]) { story in
            for number in 0..<11 { try story.say("\(number)") }
        },
        Row("an hour of silence", [["$0", "$1"], ["$2"]], named: [0]) { story in
            try story.say("one")
            story.wait(3590)
            try story.say("two")
            story.wait(3601)
            try story.say("three")
        },
        Row("an emote", [["$0"], ["$1"], ["$2"]], named: [0, 2]) {
            _ = try ($0.say("one"), $0.say("waves", type: "m.emote"), $0.say("two"))
        },
        Row("something hidden", [["$0", "$2"]], named: [0]) { _ = try ($0.say("one"), $0.react(), $0.say("two")) },
        Row("a call", [["$0"], ["$1"], ["$2"]], named: [0, 2]) {
            _ = try ($0.say("one"), $0.add("m.call.hangup", "@b:s", #"{"call_id":"c"}"#), $0.say("two"))
        },
        Row("another thread", [["$0"], ["$1"]], named: [0]) { story in
            try story.say("one")
            try story.add(
                "m.room.message", "@b:s",
                #"{"msgtype":"m.text","body":"two","m.relates_to":{"rel_type":"m.thread","event_id":"$root"}}"#)
        },
    ]

    @Test(arguments: rows) func forwards(row: Row) throws {
        var story = try Story()
        try row.tell(&story)
        let script = BubbleScript { $0.showsThreadsApart = false }
        script.live(story)
        #expect(script.ids == row.bubbles)
        #expect(script.bubbles.indices.filter { isNamed(script.bubbles[$0]) } == row.named)
    }

    @Test(arguments: rows) func backwards_looksTheSame(row: Row) throws {
        var story = try Story()
        try row.tell(&story)
        let (forwards, backwards) = (
            BubbleScript { $0.showsThreadsApart = false }, BubbleScript { $0.showsThreadsApart = false }
        )
        forwards.live(story)
        backwards.page(story, story.events.indices)
        #expect(backwards.lines == forwards.lines)
    }

    private func isNamed(_ bubble: MXKRoomBubbleCellData) -> Bool {
        bubble.events[0].isConversation && !bubble.shouldHideSenderInformation && !bubble.shouldHideSenderName
    }

    // MARK: Days

    /// 23:30 and 0:30 in UTC; in Berlin both are after midnight.
    @Test(arguments: [("UTC", [["$0"], ["$1"]]), ("Europe/Berlin", [["$0", "$1"]])] as [(String, [[String]])])
    func aDayEndsWhereItDoesInTheZone(zone: String, bubbles: [[String]]) throws {
        var story = try Story()
        story.go(to: Story.morning + 14 * Self.hour * 1000 + 1_800_000)
        try story.say("before")
        story.wait(3000)
        try story.say("after")
        let script = BubbleScript(zone: zone)
        script.live(story)
        #expect(script.ids == bubbles)
        #expect(script.bubbles.map(\.isPaginationFirstBubble) == bubbles.map { _ in true })
        #expect(script.lines.filter(\.saysName).count == bubbles.count)
    }

    @Test func theSameDayOfTwoYearsIsTwoDays() throws {
        var story = try Story()
        try story.say("one")
        story.wait(365 * 24 * Self.hour - 1)
        try story.say("two")
        let script = BubbleScript()
        script.live(story)
        #expect(script.ids == [["$0"], ["$1"]])
        #expect(script.bubbles.map(\.isPaginationFirstBubble) == [true, true])
    }

    @Test func withoutDaysNothingBeginsOne() throws {
        var story = try Story()
        try story.say("one")
        story.wait(24 * Self.hour)
        try story.say("two")
        let script = BubbleScript(bubbles: .none)
        script.live(story)
        #expect(script.bubbles.map(\.isPaginationFirstBubble) == [false, false])
        #expect(script.lines.map(\.saysName) == [true, false])
    }

    @Test func whatWasFirstOfItsDayIsNotWhenOlderOnesCome() throws {
        var story = try Story()
        for body in ["one", "two", "three"] { try story.say(body, "@\(body.count == 3 ? "b" : "c"):s") }
        let script = BubbleScript()
        script.live(story, 2..<3)
        #expect(script.bubbles[0].isPaginationFirstBubble)
        script.page(story, 0..<2)
        #expect(script.lines.map(\.beginsDay) == [true, false, false])
        #expect(script.lines.map(\.saysName) == [true, false, true])
    }
}
