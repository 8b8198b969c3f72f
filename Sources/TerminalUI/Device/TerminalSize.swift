import Foundation

/// How large a terminal is.
public struct TerminalSize: Hashable, Sendable {
    /// Cells in a row.
    public var columns: Int
    /// Rows.
    public var rows: Int

    /// A size as it is given.
    public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

    /// Of the terminal with this descriptor; 80 × 24 where it does not know.
    public init(of descriptor: Int32) {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        columns = isKnown && size.ws_col > 0 ? Int(size.ws_col) : 80
        rows = isKnown && size.ws_row > 0 ? Int(size.ws_row) : 24
    }
}
