import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// Runs of joins and leaves, which are shown as one line.
@MainActor @Suite struct BubbleSeriesTests {
    private func joins(_ count: Int, _ story: inout Story, from first: Int = 0) throws {
        for number in first..<(first + count) { try story.member("@j\(number):s", name: "J\(number)") }
    }

    private func script(_ story: Story) -> BubbleScript {
        let script = BubbleScript()
        script.live(story)
        return script
    }

    @Test(arguments: [(1, false), (2, false), (3, true), (4, true)]) func threeAreOneLine(
        count: Int, is collapsed: Bool
    ) throws {
        var story = try Story()
        try joins(count, &story)
        let script = script(story)
        #expect(script.bubbles.map(\.collapsed) == Array(repeating: collapsed, count: count))
        #expect(script.bubbles[0].collapsedAttributedTextMessage?.string == (collapsed ? "\(count) joined" : nil))
    }

    @Test func aMessageDividesSeries_andTheyAreOneWhenItGoes() throws {
        var story = try Story()
        try joins(2, &story)
        try story.say("hello")
        try joins(2, &story, from: 2)
        let script = script(story)
        #expect(script.bubbles.allSatisfy { !$0.collapsed })
        script.update(try Story.redacted(story.events[2]))
        #expect(script.bubbles.map(\.collapsed) == [true, true, true, true])
        #expect(script.bubbles[0].collapsedAttributedTextMessage?.string == "4 joined")
    }

    @Test func aMessageThatIsDecryptedBetweenThemDividesThem() throws {
        var story = try Story()
        try joins(2, &story)
        try story.encrypted()
        try joins(2, &story, from: 2)
        let script = BubbleScript { $0.formatter.settings.hideUndecryptableEvents = true }
        script.live(story)
        #expect(script.bubbles.map(\.collapsed) == [true, true, true, true])
        script.update(try Story.decrypted(story.events[2], "m.room.message", Story.text("secret")))
        #expect(script.bubbles.map(\.collapsed) == [false, false, false, false, false])
        #expect(script.bubbles[1].nextCollapsableCellData == nil)
    }

    @Test(arguments: 1..<6) func aPageMayBeginInTheMiddle(border: Int) throws {
        var story = try Story()
        try story.say("hello")
        try joins(4, &story)
        try story.say("hello")
        let script = BubbleScript()
        script.live(story, border..<6)
        script.page(story, 0..<border)
        #expect(script.bubbles.map(\.collapsed) == [false, true, true, true, true, false])
        #expect(script.bubbles[1].collapsedAttributedTextMessage?.string == "4 joined")
        #expect(script.bubbles[1].prevCollapsableCellData == nil)
        #expect(script.bubbles[4].nextCollapsableCellData == nil)
    }

    @Test func aDayDividesSeries() throws {
        var story = try Story()
        try joins(3, &story)
        story.wait(24 * 3600)
        try joins(2, &story, from: 3)
        let script = script(story)
        #expect(script.bubbles.map(\.collapsed) == [true, true, true, false, false])
    }

    @Test func whatAReaderHasOpenedStaysOpen() throws {
        var story = try Story()
        try joins(5, &story)
        let script = BubbleScript()
        script.live(story, 0..<4)
        script.source.collapseRoomBubble(script.bubbles[1], collapsed: false)
        #expect(script.bubbles.allSatisfy { !$0.collapsed })
        script.live(story, 4..<5)
        #expect(script.bubbles.allSatisfy { !$0.collapsed })
        script.source.collapseRoomBubble(script.bubbles[4], collapsed: true)
        #expect(script.bubbles.allSatisfy { $0.collapsed })
    }

    @Test func whatHappenedIsCounted() throws {
        var story = try Story()
        try joins(2, &story)
        try story.member("@j0:s", name: "Other")
        try story.member("@j1:s", "leave")
        try story.member("@j2:s", "invite", by: "@b:s")
        try story.member("@c:s", "ban", by: "@b:s")
        let script = script(story)
        #expect(
            script.bubbles[0].collapsedAttributedTextMessage?.string
                == "2 joined, 1 left, 1 were invited, 1 were removed, 1 changed their names")
    }
}
