/// Turns surfaces into the fewest bytes that make a terminal show them, from what it shows already.
///
/// Equal rows and cells are not sent. Behind a character whose width terminals disagree about, the column is set anew: a wrong
/// guess spoils one place, and not the row.
public struct ScreenPainter: Sendable {
    /// What the terminal can show.
    public struct Features: Hashable, Sendable {
        /// Others become the nearest that it has.
        public var colors: ColorDepth
        /// Frames are shown at once (mode 2026).
        public var synchronizes: Bool
        /// OSC 8.
        public var hasLinks: Bool
        /// How images are shown.
        public var graphics: GraphicsProtocol

        /// Those of a common terminal, unless told otherwise.
        public init(
            colors: ColorDepth = .indexed, synchronizes: Bool = false, hasLinks: Bool = true,
            graphics: GraphicsProtocol = .halfBlocks
        ) {
            (self.colors, self.synchronizes, self.hasLinks) = (colors, synchronizes, hasLinks)
            self.graphics = graphics
        }
    }

    /// May change between two frames.
    public var features: Features
    /// What the terminal shows; nil if that is not known.
    private var shown: TerminalSurface?
    private var kitty = KittyGraphics()
    private var sixels = SixelCache()
    private var output = ""
    /// Of the terminal's cursor in the row that is painted; nil while that is another one.
    private var position: TerminalSurface.Position?
    /// False behind a character whose width is not certain, and in the last column, where the terminal waits.
    private var isColumnKnown = true
    private var style = TerminalStyle.standard
    private var link: String?

    /// A painter that does not know yet what the terminal shows.
    public init(_ features: Features = Features()) { self.features = features }

    /// The next frame is painted whole: the terminal shows something else than it should.
    public mutating func forget() { shown = nil }

    /// Takes all images away.
    var clearing: String { features.graphics == .kitty ? KittyGraphics.deleteAll : "" }

    /// - Returns: What is to be written; empty if nothing changes.
    public mutating func paint(_ surface: TerminalSurface) -> String {
        let surface = features.graphics == .halfBlocks ? surface : surface.withBlanksUnderImages()
        let old = shown?.size == surface.size ? shown : nil
        guard old != surface else { return "" }
        (output, position) = ("", nil)
        if old == nil {
            output += "\u{1B}[0m\u{1B}[2J" + clearing
            kitty.forget()
        }
        (style, link) = (.standard, nil)
        let images = ImageChange(from: old, to: surface, features.graphics)
        for placement in images.gone where features.graphics == .kitty { output += kitty.removing(placement) }
        let blank = TerminalLine(Array(repeating: .blank, count: surface.columns))
        for (row, line) in surface.lines.enumerated() {
            let before = old?.lines[row] ?? blank
            position = nil
            if before.cells != line.cells || images.spoiledRows.contains(row) {
                paint(line.cells, over: images.spoiledRows.contains(row) ? nil : before.cells, row: row)
            }
        }
        setStyle(.standard, link: nil)
        for placement in images.new { paint(placement) }
        if features.graphics == .kitty { output += kitty.forgettingOld(shown: Set(surface.placements.map(\.id))) }
        if let cursor = surface.cursor {
            move(to: cursor)
            if old?.cursor == nil { output += "\u{1B}[?25h" }
        } else if old == nil || old?.cursor != nil {
            output += "\u{1B}[?25l"
        }
        shown = surface
        defer { output = "" }
        return features.synchronizes ? "\u{1B}[?2026h\(output)\u{1B}[?2026l" : output
    }

    /// After the text: it covers cells that are blank.
    private mutating func paint(_ placement: ImagePlacement) {
        move(to: TerminalSurface.Position(column: placement.column, row: placement.rows.lowerBound))
        switch features.graphics {
        case .halfBlocks: break
        case .sixel(let cell): output += sixels.bytes(placement, cell)
        case .kitty: output += kitty.placing(placement)
        }
        position = nil
    }

    private mutating func paint(_ cells: [TerminalCell], over old: [TerminalCell]?, row: Int) {
        let end = (cells.lastIndex { $0 != .blank } ?? -1) + 1
        // A character that is wider there than here covers what is behind it, which is painted again then.
        let isCertain = Self.isCertain(cells) && old.map(Self.isCertain) != false
        var column = 0
        while column < cells.count {
            let cell = cells[column]
            let width = max(Int(cell.width), 1)
            let range = column..<min(column + width, cells.count)
            let isAfterChange = !isCertain && position != nil
            if let old, !isAfterChange, old[range] == cells[range] {
                column += width
                continue
            }
            // Blanks to the end are one sequence.
            if column >= end, cells.count - column > 3 {
                if isCertain, old?[column...].allSatisfy({ $0 == .blank }) == true { return }
                setStyle(.standard, link: nil)
                move(to: TerminalSurface.Position(column: column, row: row))
                output += "\u{1B}[K"
                return
            }
            move(to: TerminalSurface.Position(column: column, row: row))
            setStyle(cell.style, link: cell.link)
            output += cell.cluster.isEmpty ? " " : cell.cluster
            column += width
            position?.column = column
            if !Self.isCertain([cell]) || column == cells.count { isColumnKnown = false }
        }
    }

    private static func isCertain(_ cells: [TerminalCell]) -> Bool {
        cells.allSatisfy { $0.cluster.allSatisfy(WidthProfile.isCertain) }
    }

    private mutating func move(to target: TerminalSurface.Position) {
        defer { (position, isColumnKnown) = (target, true) }
        guard let position, position.row == target.row else {
            output += "\u{1B}[\(target.row + 1);\(target.column + 1)H"
            return
        }
        let distance = target.column - position.column
        if !isColumnKnown || distance < 0 {
            output += "\u{1B}[\(target.column + 1)G"
        } else if distance > 0 {
            output += distance == 1 ? "\u{1B}[C" : "\u{1B}[\(distance)C"
        }
    }

    private mutating func setStyle(_ new: TerminalStyle, link newLink: String?) {
        if features.hasLinks, newLink != link {
            output += "\u{1B}]8;\(newLink.map { "id=\(Self.id(of: $0));\($0)" } ?? ";")\u{1B}\\"
            link = newLink
        }
        let new = TerminalStyle(
            new.foreground.reduced(to: features.colors), on: new.background.reduced(to: features.colors), new.flags)
        guard new != style else { return }
        var codes: [String] = []
        if !new.flags.isSuperset(of: style.flags) {
            codes.append("0")
            style = .standard
        }
        let flags: [(TerminalStyle.Flags, String)] = [
            (.bold, "1"), (.dim, "2"), (.italic, "3"), (.underline, "4"), (.inverse, "7"), (.strike, "9"),
        ]
        for (flag, code) in flags where new.flags.contains(flag) && !style.flags.contains(flag) { codes.append(code) }
        if new.foreground != style.foreground { codes.append(Self.code(new.foreground, base: 30)) }
        if new.background != style.background { codes.append(Self.code(new.background, base: 40)) }
        output += "\u{1B}[\(codes.joined(separator: ";"))m"
        style = new
    }

    private static func code(_ color: TerminalColor, base: Int) -> String {
        switch color {
        case .standard: "\(base + 9)"
        case .indexed(let index) where index < 8: "\(base + Int(index))"
        case .indexed(let index) where index < 16: "\(base + 60 + Int(index) - 8)"
        case .indexed(let index): "\(base + 8);5;\(index)"
        case .rgb(let red, let green, let blue): "\(base + 8);2;\(red);\(green);\(blue)"
        }
    }

    /// The parts of a link that is broken into lines belong together by their id.
    private static func id(of link: String) -> String {
        String(link.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }, radix: 36)
    }
}
