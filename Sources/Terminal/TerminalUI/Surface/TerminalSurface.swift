/// The contents of a screen: lines of equal width and the cursor's position.
public struct TerminalSurface: Hashable, Sendable {
    /// The position of a cell.
    public struct Position: Hashable, Sendable {
        /// The column, counted from 0 at the left.
        public var column: Int
        /// The row, counted from 0 at the top.
        public var row: Int

        /// Creates a position.
        public init(column: Int, row: Int) { (self.column, self.row) = (column, row) }
    }

    /// The size in cells.
    public let size: TerminalSize
    /// The lines from the top, each as wide as the surface.
    public private(set) var lines: [TerminalLine]
    /// The cursor's position; nil hides it.
    public var cursor: Position?

    /// Creates a blank surface.
    public init(_ size: TerminalSize) {
        self.size = size
        lines = Array(
            repeating: TerminalLine(Array(repeating: .blank, count: max(size.columns, 0))), count: max(size.rows, 0))
    }

    /// The number of cells in a row.
    public var columns: Int { size.columns }
    /// The number of rows.
    public var rows: Int { size.rows }

    /// Draws a line. Parts beyond the edges are ignored.
    public mutating func draw(_ line: TerminalLine, column: Int = 0, row: Int) {
        guard lines.indices.contains(row) else { return }
        let isWhole = column == 0 && line.columns >= columns
        lines[row].replace(at: column, with: line)
        if isWhole { lines[row].anchor = line.anchor }
    }

    /// Draws text, which ends in `…` if it is too wide.
    public mutating func draw(
        _ text: StyledText, column: Int = 0, row: Int, width: Int? = nil, _ profile: WidthProfile = .unicode
    ) {
        let line = TerminalLine(text, profile)
        draw(line.truncated(to: width ?? (columns - column)), column: column, row: row)
    }

    /// Draws another surface with its cursor.
    public mutating func draw(_ surface: TerminalSurface, column: Int, row: Int) {
        for (index, line) in surface.lines.enumerated() { draw(line, column: column, row: row + index) }
        if let cursor = surface.cursor {
            self.cursor = Position(column: column + cursor.column, row: row + cursor.row)
        }
    }

    mutating func blankUnderImage(_ row: Int) { lines[row].blankUnderImage() }

    /// The rows as text, without trailing blanks.
    public var text: [String] { lines.map(\.text) }
}
