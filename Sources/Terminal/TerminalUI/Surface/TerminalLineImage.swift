/// A row of an image in a line.
///
/// The covered cells show it roughly, for terminals without image support: see ``TerminalImage/lines(_:id:anchor:)``.
/// Rows of one image in consecutive lines are shown as one.
public struct TerminalLineImage: Hashable, Sendable {
    /// Identifies the pixels: two rows with the same ID belong to the same image.
    public var id: UInt32
    /// The whole image.
    public var image: TerminalImage
    /// The size of the whole image in cells.
    public var size: TerminalSize
    /// The index of this row in the image, from 0 at the top.
    public var row: Int
    /// The column of the line at its left edge.
    public var column: Int

    /// Creates a row of an image at a column of a line.
    public init(id: UInt32, image: TerminalImage, size: TerminalSize, row: Int, column: Int = 0) {
        (self.id, self.image, self.size, self.row, self.column) = (id, image, size, row, column)
    }

    var columns: Range<Int> { column..<column + size.columns }

    func moved(by columns: Int) -> TerminalLineImage {
        var image = self
        image.column += columns
        return image
    }

    /// Compares the IDs, not the pixels.
    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.size == right.size && left.row == right.row && left.column == right.column
    }

    /// Hashes the ID, not the pixels.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(row)
        hasher.combine(column)
    }
}
