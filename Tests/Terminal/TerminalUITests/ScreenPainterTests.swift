import TerminalUI
import TestSupport
import Testing

struct ScreenPainterTests {
    private static let pieces = [
        "a", "word", " ", "   ", "日", "한국", "é", "e\u{301}", "👍", "👍🏽", "👨‍👩‍👧", "❤\u{FE0F}", "🇩🇪", "1\u{FE0F}\u{20E3}", "ﾊ",
        "—", "│",
        "─", "…",
    ]
    private static let styles: [TerminalStyle] = [
        .standard, TerminalStyle(.indexed(1)), TerminalStyle(.indexed(12), on: .indexed(200), .bold),
        TerminalStyle(.rgb(1, 2, 3), on: .standard, [.italic, .underline]), TerminalStyle(on: .indexed(4), .inverse),
        TerminalStyle(.indexed(1), on: .standard, .dim),
    ]

    private static func random(_ size: TerminalSize, like old: TerminalSurface?, _ random: inout XorShift)
        -> TerminalSurface
    {
        var surface = TerminalSurface(size)
        if let old, old.size == size, Bool.random(using: &random) { surface = old }
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            var text = StyledText()
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                text.append(
                    StyledText.Run(
                        Self.pieces.randomElement(using: &random) ?? "",
                        Self.styles.randomElement(using: &random) ?? .standard,
                        link: Int.random(in: 0..<6, using: &random) == 0 ? "https://example.org/x" : nil))
            }
            surface.draw(
                TerminalLine(text), column: Int.random(in: -3...size.columns, using: &random),
                row: Int.random(in: 0..<size.rows, using: &random))
        }
        surface.cursor =
            Bool.random(using: &random)
            ? nil
            : .init(
                column: Int.random(in: 0..<size.columns, using: &random),
                row: Int.random(in: 0..<size.rows, using: &random))
        return surface
    }

    /// The final screen, whatever it showed before, on terminals that use wider or narrower emoji than we do.
    @Test(arguments: 0..<300) func theTerminalShowsTheSurface(seed: UInt64) throws {
        var random = XorShift(seed: seed)
        var size = TerminalSize(columns: Int.random(in: 1...24, using: &random), rows: 4)
        var painter = ScreenPainter(.init(colors: .rgb, synchronizes: seed % 2 == 0))
        var screen = TerminalScreen(columns: size.columns)
        screen.feed("\u{1B}[?7l".utf8)
        var surface: TerminalSurface?
        for _ in 0..<12 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                size.columns = Int.random(in: 1...24, using: &random)
                screen.columns = size.columns
            }
            let next = Self.random(size, like: surface, &random)
            screen.feed(painter.paint(next).utf8)
            #expect(painter.paint(next) == "")
            expectSame(screen, next)
            surface = next
        }
        #expect(screen.strange == [])
    }

    private func expectSame(_ screen: TerminalScreen, _ surface: TerminalSurface) {
        for (row, line) in surface.lines.enumerated() {
            for (column, cell) in line.cells.enumerated()
            where cell.width > 0 && cell.cluster.allSatisfy(WidthProfile.isCertain) {
                let shown = screen.cell(row: row, column: column)
                #expect(shown.text == cell.cluster, "row \(row), column \(column) of \(line.text)")
                if cell != .blank {
                    #expect(shown.style == Self.codes(cell.style), "row \(row), column \(column) of \(line.text)")
                    #expect(shown.link == cell.link ?? "")
                }
            }
        }
        #expect(screen.modes.contains(25) == (surface.cursor != nil))
        if let cursor = surface.cursor { #expect(screen.cursor == (cursor.row, cursor.column)) }
    }

    private static func codes(_ style: TerminalStyle) -> [String] {
        var codes: [String] = []
        func add(_ color: TerminalColor, _ base: Int) {
            switch color {
            case .standard: break
            case .indexed(let index) where index < 8: codes.append("\(base + Int(index))")
            case .indexed(let index) where index < 16: codes.append("\(base + 52 + Int(index))")
            case .indexed(let index): codes.append("\(base + 8);5;\(index)")
            case .rgb(let red, let green, let blue): codes.append("\(base + 8);2;\(red);\(green);\(blue)")
            }
        }
        add(style.foreground, 30)
        add(style.background, 40)
        let flags: [(TerminalStyle.Flags, String)] = [
            (.bold, "1"), (.dim, "2"), (.italic, "3"), (.underline, "4"), (.inverse, "7"), (.strike, "9"),
        ]
        for (flag, code) in flags where style.flags.contains(flag) { codes.append(code) }
        return codes.sorted()
    }

    @Test func aTypedLetterIsAFewBytes() {
        var painter = ScreenPainter(.init(synchronizes: true))
        var surface = TerminalSurface(TerminalSize(columns: 120, rows: 40))
        for row in 0..<40 { surface.draw("a line that fills some of the screen", row: row) }
        surface.cursor = .init(column: 10, row: 39)
        _ = painter.paint(surface)
        surface.draw("x", column: 50, row: 39)
        surface.cursor = .init(column: 51, row: 39)
        #expect(painter.paint(surface).utf8.count < 40)
    }

    @Test func coloursAreReducedToWhatTheTerminalHas() {
        var surface = TerminalSurface(TerminalSize(columns: 1, rows: 1))
        surface.draw(StyledText("x", TerminalStyle(.rgb(250, 10, 10))), row: 0)
        let shown = ColorDepth.allCases.map { depth in
            var painter = ScreenPainter(.init(colors: depth))
            var screen = TerminalScreen(columns: 1)
            screen.feed(painter.paint(surface).utf8)
            return screen.cell(row: 0, column: 0).style
        }
        #expect(shown == [[], ["91"], ["38;5;196"], ["38;2;250;10;10"]])
    }

    @Test func aTerminalWithoutLinksGetsNone() {
        var surface = TerminalSurface(TerminalSize(columns: 4, rows: 1))
        surface.draw(StyledText("here", link: "https://example.org"), row: 0)
        var painter = ScreenPainter(.init(hasLinks: false))
        #expect(!painter.paint(surface).contains("\u{1B}]"))
    }
}
