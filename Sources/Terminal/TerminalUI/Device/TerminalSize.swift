import Foundation

/// How large a terminal is.
public struct TerminalSize: Hashable, Sendable {
    /// Cells in a row.
    public var columns: Int
    /// Rows.
    public var rows: Int

    /// A size as it is given.
    public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

    /// The largest that is taken from a terminal: more cells than anybody sees only take memory.
    static let maximum = TerminalSize(columns: 1000, rows: 500)

    /// Of the terminal with this descriptor; 80 × 24 where it does not know, and 1000 × 500 at most.
    public init(of descriptor: Int32) {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        columns = isKnown && size.ws_col > 0 ? min(Int(size.ws_col), Self.maximum.columns) : 80
        rows = isKnown && size.ws_row > 0 ? min(Int(size.ws_row), Self.maximum.rows) : 24
    }
}
