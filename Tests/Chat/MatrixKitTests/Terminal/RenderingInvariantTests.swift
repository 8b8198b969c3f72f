import Foundation
import MatrixKitTerminal
import MatrixProtocol
import TerminalUI
import TestSupport
import Testing

@testable import MatrixKit
@testable import MatrixKitTerminal

/// Invariants of any content.
@MainActor @Suite struct RenderingInvariantTests {
    nonisolated static let widths = [1, 2, 3, 7, 10, 20, 49, 50, 80, 200]

    private func check(_ lines: [TerminalLine], columns: Int) {
        #expect(lines.allSatisfy { $0.columns <= columns })
        for line in lines {
            let flaws = HostileText.flaws(in: line.cells.map(\.cluster).joined(), isBounded: false)
            #expect(flaws.isEmpty, "\(flaws) in “\(line.text)”")
        }
    }

    @Test(arguments: widths) func noLineIsWiderThanAsked_andNothingDrivesTheTerminal(columns: Int) throws {
        for bubble in try SampleRoom().script.bubbles {
            check(SampleRoom.lines(bubble, columns: columns), columns: columns)
        }
    }

    private static let pieces = [
        "a", "word", " ", "\n", "\t", "漢字", "👨‍👩‍👧", "👍🏽", "❤️", "🇩🇪", "é", "\u{301}", "\u{1B}[2J", "\u{7}", "\u{9B}",
        "\u{202E}", "\u{2066}", "\u{200D}", "\u{FE0F}", "\u{0}", "\u{AD}", "\u{E000}", "한", "ﷺ", "\u{2028}", "```", "`",
        "http://a.b/c",
        "@u:s", "<b>", "</p><p>", "<li>", "<pre>", "<table><tr><td>", "<hr>", "&#27;", "&lt;",
    ]

    @Test(arguments: 0..<150) func randomTexts(seed: UInt64) throws {
        var random = XorShift(seed: seed)
        let body = (0..<Int.random(in: 0...60, using: &random)).map { _ in
            Self.pieces.randomElement(using: &random) ?? ""
        }.joined()
        var story = try Story(at: SampleRoom.morning)
        let name = (0..<8).map { _ in Self.pieces.randomElement(using: &random) ?? "" }.joined()
        try story.add(
            "m.room.member", "@b:s", "{\"membership\":\"join\",\"displayname\":\(HostileText.json(name))}", key: "@b:s")
        try story.add("m.room.message", "@b:s", Story.text(body))
        try story.add("m.room.message", "@b:s", Story.html(body))
        try story.add("m.room.topic", "@b:s", "{\"topic\":\(HostileText.json(body))}", key: "")
        try story.add(
            "m.room.message", "@b:s",
            "{\"msgtype\":\"m.file\",\"body\":\(HostileText.json(body)),\"url\":\"mxc://s/f\"}")
        let script = BubbleScript()
        script.live(story)
        for columns in Self.widths {
            for bubble in script.bubbles { check(SampleRoom.lines(bubble, columns: columns), columns: columns) }
        }
    }

    @Test func aBodyOf64KiB_andOneCharacterOfThousands() throws {
        var story = try Story()
        try story.say(String(repeating: "word ", count: 13_000))
        try story.say(HostileText.long, "@c:s")
        try story.say("", "@b:s")
        try story.say(String(repeating: "a\n", count: 30_000), "@d:s")
        let script = BubbleScript()
        script.live(story)
        for bubble in script.bubbles { check(SampleRoom.lines(bubble, columns: 40), columns: 40) }
        #expect(SampleRoom.lines(script.bubbles[0], columns: 40).count > 1000)
        let rows = try SampleRoom.lines(#require(script.bubbles.last), columns: 40)
        #expect((4000...4010).contains(rows.count))
        #expect(rows.contains { $0.cells.map(\.cluster).joined().contains("the rest is too long") })
    }

    // MARK: Screens

    private func screen() throws -> (SampleRoom, MXKRoomViewController) {
        let room = try SampleRoom()
        let controller = MXKRoomViewController()
        controller.displayRoom(room.script.source)
        room.script.source.setState(.ready)
        return (room, controller)
    }

    @Test(arguments: [20, 40, 80, 200], [20, 40, 80, 200]) func theWidthBeforeLeavesNothingBehind(old: Int, new: Int)
        throws
    {
        let ((room, one), (other, fresh)) = (try screen(), try screen())
        _ = one.draw(columns: old, rows: 24)
        #expect(timeline(one, columns: new, rows: 24) == timeline(fresh, columns: new, rows: 24))
        withExtendedLifetime((room, other)) {}
    }

    /// The timeline without the status line.
    private func timeline(_ controller: MXKRoomViewController, columns: Int, rows: Int) -> [String] {
        controller.draw(columns: columns, rows: rows).text.dropLast(2)
    }

    @Test(arguments: 1..<5) func scrollingUpAndDownIsNothing(lines: Int) throws {
        let (room, controller) = try screen()
        let rows = 12
        _ = controller.draw(columns: 40, rows: rows)
        for _ in 0..<2 { _ = controller.handle(.pageUp) }
        let before = timeline(controller, columns: 40, rows: rows)
        #expect(!controller.isBubblesTableScrollViewAtTheBottom())
        for action in [TerminalMouse.Action.scrolledUp, .scrolledDown] {
            for _ in 0..<lines { _ = controller.handle(.mouse(TerminalMouse(action, column: 0, row: 2))) }
            _ = controller.draw(columns: 40, rows: rows)
        }
        #expect(timeline(controller, columns: 40, rows: rows) == before)
        withExtendedLifetime(room) {}
    }

    // MARK: The viewport

    private static func source(_ heights: [Int]) -> CellViewport.Source {
        CellViewport.Source(
            count: heights.count,
            lines: { cell in (0..<heights[cell]).map { TerminalLine(StyledText("\(cell).\($0)")) } },
            id: { "\($0)" }, index: { Int($0).flatMap { heights.indices.contains($0) ? $0 : nil } })
    }

    @Test(arguments: 0..<200) func aViewportIsAWindowOfAllLines(seed: UInt64) {
        var random = XorShift(seed: seed)
        let heights = (0..<Int.random(in: 0...40, using: &random)).map { _ in Int.random(in: 0...5, using: &random) }
        let source = Self.source(heights)
        let all = heights.indices.flatMap { cell in source.lines(cell).map(\.text) }
        let rows = Int.random(in: 1...15, using: &random)
        var viewport = CellViewport()
        var top = max(all.count - rows, 0)
        for _ in 0..<30 {
            let step = Int.random(in: -20...20, using: &random)
            viewport.scroll(by: step, source, rows: rows)
            top = min(max(top + step, 0), max(all.count - rows, 0))
            #expect(viewport.lines(source, rows: rows).map(\.text) == Array(all.dropFirst(top).prefix(rows)))
            #expect(viewport.isAtEnd == (top >= max(all.count - rows, 0)))
        }
    }

    /// Cells are added and removed before and after the screen: its first line stays, or the first one that is left.
    @Test(arguments: 0..<200) func whatIsReadStaysWhateverComesAndGoes(seed: UInt64) {
        var random = XorShift(seed: seed)
        var (cells, next) = (Array(0..<30), 30)
        func source() -> CellViewport.Source {
            let cells = cells
            return CellViewport.Source(
                count: cells.count, lines: { [TerminalLine(StyledText("\(cells[$0])"))] }, id: { "\(cells[$0])" },
                index: { id in cells.firstIndex { "\($0)" == id } })
        }
        var viewport = CellViewport()
        viewport.scroll(by: -12, source(), rows: 5)
        for _ in 0..<20 {
            let shown = viewport.lines(source(), rows: 5).map(\.text)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: cells.insert(next, at: 0)
            case 1: cells.append(next)
            default:
                let gone = shown.randomElement(using: &random)
                cells.removeAll { "\($0)" == gone }
            }
            next += 1
            let left = shown.filter { text in cells.contains { "\($0)" == text } }
            #expect(viewport.lines(source(), rows: 5).first?.text == left.first)
        }
    }

    /// The timeline is reloaded: when the lines that were on the screen return, they are shown again.
    @Test func whatWasReadIsFoundAgain() {
        let all = Self.source(Array(repeating: 1, count: 30))
        var viewport = CellViewport()
        viewport.scroll(by: -12, all, rows: 5)
        let shown = viewport.lines(all, rows: 5).map(\.text)
        _ = viewport.lines(Self.source([]), rows: 5)
        #expect(!viewport.isAtEnd && viewport.anchorId == "13")
        #expect(viewport.lines(all, rows: 5).map(\.text) == shown)
    }

    /// Around an event, new lines at the end do not push the visible ones away.
    @Test func whereTheEndIsNotFollowedTheLastLinesStay() {
        let few = Self.source([1, 1, 1, 1, 1, 1])
        var viewport = CellViewport()
        viewport.followsEnd = false
        viewport.go(to: "0")
        viewport.scroll(by: 100, few, rows: 3)
        #expect(viewport.lines(few, rows: 3).map(\.text) == ["3.0", "4.0", "5.0"])
        #expect(
            viewport.lines(Self.source(Array(repeating: 1, count: 9)), rows: 3).map(\.text) == ["3.0", "4.0", "5.0"])
    }
}
