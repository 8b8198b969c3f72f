/// What a screen is to show: lines of the same number of columns, and where the cursor stands.
public struct TerminalSurface: Hashable, Sendable {
    /// A cell of it.
    public struct Position: Hashable, Sendable {
        /// From 0 at the left.
        public var column: Int
        /// From 0 at the top.
        public var row: Int

        /// A cell by its column and row.
        public init(column: Int, row: Int) { (self.column, self.row) = (column, row) }
    }

    /// In cells.
    public let size: TerminalSize
    /// From the top, each as wide as the surface.
    public private(set) var lines: [TerminalLine]
    /// Nil hides it.
    public var cursor: Position?

    /// A blank one.
    public init(_ size: TerminalSize) {
        self.size = size
        lines = Array(
            repeating: TerminalLine(Array(repeating: .blank, count: max(size.columns, 0))), count: max(size.rows, 0))
    }

    /// Cells in a row.
    public var columns: Int { size.columns }
    /// Rows.
    public var rows: Int { size.rows }

    /// Puts a line on it. What is beyond the edges is left out.
    public mutating func draw(_ line: TerminalLine, column: Int = 0, row: Int) {
        guard lines.indices.contains(row) else { return }
        let isWhole = column == 0 && line.columns >= columns
        lines[row].replace(at: column, with: line)
        if isWhole { lines[row].anchor = line.anchor }
    }

    /// Puts text on it, which ends in `…` if it is wider than there is room.
    public mutating func draw(
        _ text: StyledText, column: Int = 0, row: Int, width: Int? = nil, _ profile: WidthProfile = .unicode
    ) {
        let line = TerminalLine(text, profile)
        draw(line.truncated(to: width ?? (columns - column)), column: column, row: row)
    }

    /// Puts another surface on it, with its cursor.
    public mutating func draw(_ surface: TerminalSurface, column: Int, row: Int) {
        for (index, line) in surface.lines.enumerated() { draw(line, column: column, row: row + index) }
        if let cursor = surface.cursor {
            self.cursor = Position(column: column + cursor.column, row: row + cursor.row)
        }
    }

    mutating func blankUnderImage(_ row: Int) { lines[row].blankUnderImage() }

    /// The rows as text, without blanks at their ends.
    public var text: [String] { lines.map(\.text) }
}
