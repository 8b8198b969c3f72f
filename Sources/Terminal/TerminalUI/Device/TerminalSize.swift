import Foundation

/// The size of a terminal in cells.
public struct TerminalSize: Hashable, Sendable {
    /// The number of cells in a row.
    public var columns: Int
    /// The number of rows.
    public var rows: Int

    /// Creates a size.
    public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

    /// The maximum size accepted from a terminal. More cells than anyone can see only waste memory.
    static let maximum = TerminalSize(columns: 1000, rows: 500)

    /// Returns the size of the terminal with this descriptor: 80 × 24 if it is unknown, and at most 1000 × 500.
    public init(of descriptor: Int32) {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        columns = isKnown && size.ws_col > 0 ? min(Int(size.ws_col), Self.maximum.columns) : 80
        rows = isKnown && size.ws_row > 0 ? min(Int(size.ws_row), Self.maximum.rows) : 24
    }
}
