/// Converts surfaces into the fewest bytes that update a terminal from its current contents.
///
/// Equal rows and cells are not sent. After a character whose width differs between terminals, the column is set again,
/// so a wrong guess spoils one place and not the row.
public struct ScreenPainter: Sendable {
    /// The terminal's features.
    public struct Features: Hashable, Sendable {
        /// The colour depth. Other colours become the nearest available one.
        public var colors: ColorDepth
        /// Whether frames are synchronized (mode 2026).
        public var synchronizes: Bool
        /// Whether links are supported (OSC 8).
        public var hasLinks: Bool
        /// The method for showing images.
        public var graphics: GraphicsProtocol

        /// Creates features; by default, those of a common terminal.
        public init(
            colors: ColorDepth = .indexed, synchronizes: Bool = false, hasLinks: Bool = true,
            graphics: GraphicsProtocol = .halfBlocks
        ) {
            (self.colors, self.synchronizes, self.hasLinks) = (colors, synchronizes, hasLinks)
            self.graphics = graphics
        }
    }

    /// The terminal's features, which may change between two frames.
    public var features: Features
    /// The terminal's current contents; nil if unknown.
    private var shown: TerminalSurface?
    private var kitty = KittyGraphics()
    private var sixels = SixelCache()
    private var output = ""
    /// The terminal's cursor in the row being painted; nil while it is in another row.
    private var position: TerminalSurface.Position?
    /// False after a character of uncertain width, and in the last column, where the terminal delays wrapping.
    private var isColumnKnown = true
    private var style = TerminalStyle.standard
    private var link: String?

    /// Creates a painter that does not know the terminal's contents.
    public init(_ features: Features = Features()) { self.features = features }

    /// Makes the next frame paint everything, because the terminal's contents have changed.
    public mutating func forget() { shown = nil }

    var clearing: String { features.graphics == .kitty ? KittyGraphics.deleteAll : "" }

    /// - Returns: The output to write; empty if nothing changed.
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

    /// Called after the text is painted: the image covers blank cells.
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
        // A character that is wider on the terminal than here covers the following ones, which are then painted again.
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
            // Blanks up to the end are one sequence.
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

    /// The parts of a link that is broken into lines belong together by their ID.
    private static func id(of link: String) -> String {
        String(link.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }, radix: 36)
    }
}
