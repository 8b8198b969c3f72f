import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// How bubbles react when their events change.
@MainActor @Suite struct BubbleChangeTests {
    private func three() throws -> (Story, BubbleScript) {
        var story = try Story()
        for body in ["one", "two", "three"] { try story.say(body) }
        let script = BubbleScript()
        script.live(story)
        #expect(script.ids == [["$0", "$1", "$2"]])
        return (story, script)
    }

    // MARK: Redactions

    @Test(arguments: 0..<3) func aRedactedEventLeavesItsBubble(index: Int) throws {
        let (story, script) = try three()
        script.update(try Story.redacted(story.events[index]))
        #expect(script.ids == [["$0", "$1", "$2"].filter { $0 != "$\(index)" }])
        #expect(script.lines.map(\.saysName) == [true, false])
        #expect(script.lines.map(\.beginsDay) == [true, false])
        // Questions about it are answered for the one before.
        #expect(script.source.shownEvent(for: "$\(index)") == (index == 0 ? nil : "$\(index - 1)"))
        #expect(script.source.indexOfCellData(withEventId: "$\(index)") == NSNotFound)
    }

    @Test func whatAPictureDividedIsOneWhenItIsGone() throws {
        var story = try Story()
        try story.say("one")
        try story.add("m.room.message", "@b:s", Story.image())
        try story.say("two")
        let script = BubbleScript()
        script.live(story)
        #expect(script.ids == [["$0"], ["$1"], ["$2"]])
        script.update(try Story.redacted(story.events[1]))
        #expect(script.ids == [["$0", "$2"]])
        #expect(script.source.cellDataOfEvent(withEventId: "$2") === script.bubbles[0])
    }

    @Test func theLastOfARoomGoes() throws {
        var story = try Story()
        try story.say("one")
        let script = BubbleScript()
        script.live(story)
        script.update(try Story.redacted(story.events[0]))
        #expect(script.ids.isEmpty)
        #expect(script.shown.isEmpty)
    }

    @Test func theNameIsSaidAgainWhenTheOneThatSaidItGoes() throws {
        var story = try Story()
        try story.say("one")
        story.wait(4000)
        try story.say("two")
        let script = BubbleScript()
        script.live(story)
        #expect(script.lines.map(\.saysName) == [true, false])
        script.update(try Story.redacted(story.events[0]))
        #expect(script.lines.map(\.saysName) == [true])
        #expect(script.lines.map(\.beginsDay) == [true])
    }

    @Test func aRedactionLeavesASignIfItShould_andTheName() throws {
        let (story, script) = try three()
        script.source.formatter.settings.showRedactionsInRoomHistory = true
        script.update(try Story.redacted(story.events[1]))
        #expect(script.lines.map(\.text) == ["one", "message deleted", "three"])
        #expect(script.bubbles[0].senderDisplayName == "Bob")
    }

    // MARK: Decryption

    private func encrypted() throws -> (Story, BubbleScript) {
        var story = try Story()
        try story.say("one")
        try story.encrypted()
        try story.say("two")
        let script = BubbleScript()
        script.live(story)
        #expect(script.ids == [["$0", "$1", "$2"]])
        return (story, script)
    }

    @Test func lateTextStaysInItsPlace() throws {
        let (story, script) = try encrypted()
        script.update(try Story.decrypted(story.events[1], "m.room.message", Story.text("secret")))
        #expect(script.lines.map(\.text) == ["one", "secret", "two"])
        #expect(script.updated == [0])
    }

    @Test func aLatePictureStandsAlone() throws {
        let (story, script) = try encrypted()
        script.update(try Story.decrypted(story.events[1], "m.room.message", Story.image()))
        #expect(script.ids == [["$0"], ["$1"], ["$2"]])
        #expect(script.bubbles.map { $0.attachment != nil } == [false, true, false])
        #expect(script.lines.map(\.saysName) == [true, false, false])
    }

    @Test func aLateEmoteStandsAlone_andTheNameIsSaidAfterIt() throws {
        let (story, script) = try encrypted()
        script.update(try Story.decrypted(story.events[1], "m.room.message", Story.text("waves", "m.emote")))
        #expect(script.ids == [["$0"], ["$1"], ["$2"]])
        #expect(script.lines.map(\.saysName) == [true, false, true])
    }

    @Test func aLateReactionIsNotShown() throws {
        let (story, script) = try encrypted()
        script.update(try Story.decrypted(story.events[1], "m.reaction", #"{"m.relates_to":{}}"#))
        #expect(script.ids == [["$0", "$2"]])
        #expect(script.source.shownEvent(for: "$1") == "$0")
    }

    /// With undecryptable events hidden, each appears in its place when its key arrives, in any order.
    @Test(arguments: [[1, 2], [2, 1]]) func hiddenOnesTakeTheirPlaces(order: [Int]) throws {
        var story = try Story()
        try story.say("one")
        try story.encrypted()
        try story.encrypted()
        try story.say("two")
        let script = BubbleScript { $0.formatter.settings.hideUndecryptableEvents = true }
        script.live(story)
        #expect(script.ids == [["$0", "$3"]])
        for index in order {
            script.update(try Story.decrypted(story.events[index], "m.room.message", Story.text("secret")))
        }
        #expect(script.ids == [["$0", "$1", "$2", "$3"]])
    }

    @Test func theOldestThatWasHiddenComesFirst() throws {
        var story = try Story()
        try story.encrypted()
        try story.react()
        try story.say("two", "@c:s")
        let script = BubbleScript { $0.formatter.settings.hideUndecryptableEvents = true }
        script.page(story, 0..<3)
        script.update(try Story.decrypted(story.events[0], "m.room.message", Story.text("secret")))
        #expect(script.ids == [["$0"], ["$2"]])
        #expect(script.source.shownEvent(for: "$1") == "$0")
        #expect(script.lines.map(\.beginsDay) == [true, false])
    }

    @Test func aListOfPicturesTakesALatePictureAlone() throws {
        var story = try Story()
        try story.encrypted()
        try story.encrypted()
        let script = BubbleScript { $0.filterMessagesWithURL = true }
        script.live(story)
        #expect(script.ids.isEmpty)
        script.update(
            try Story.decrypted(story.events[0], "m.room.message", Story.text("secret")),
            try Story.decrypted(story.events[1], "m.room.message", Story.image()))
        #expect(script.ids == [["$1"]])
    }

    // MARK: Removal from the screen

    @Test func anEventThatIsTakenOffHandsItsReadersOn() throws {
        var story = try Story()
        try story.say("one", "@c:s")
        try story.say("two")
        try story.react()
        let script = BubbleScript()
        script.live(story)
        #expect(script.source.shownEvent(for: "$2") == "$1")
        script.source.removeEvent(withEventId: "$1")
        #expect(script.ids == [["$0"]])
        #expect(script.source.shownEvent(for: "$2") == "$0")
    }
}
