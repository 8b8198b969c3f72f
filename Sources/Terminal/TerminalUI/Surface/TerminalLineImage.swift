/// A row of an image in a line.
///
/// The cells that it covers show it roughly, for terminals that can show nothing better: see
/// ``TerminalImage/lines(_:id:anchor:)``. Rows of one image in lines that follow one another are shown as one.
public struct TerminalLineImage: Hashable, Sendable {
    /// Stands for the pixels: two rows with the same id are of the same image.
    public var id: UInt32
    /// The whole image.
    public var image: TerminalImage
    /// The cells of the whole image.
    public var size: TerminalSize
    /// Which of its rows this is, from 0 at the top.
    public var row: Int
    /// The cell of the line at its left edge.
    public var column: Int

    /// A row of an image at a place in a line.
    public init(id: UInt32, image: TerminalImage, size: TerminalSize, row: Int, column: Int = 0) {
        (self.id, self.image, self.size, self.row, self.column) = (id, image, size, row, column)
    }

    /// The cells of the line that it covers.
    var columns: Range<Int> { column..<column + size.columns }

    func moved(by columns: Int) -> TerminalLineImage {
        var image = self
        image.column += columns
        return image
    }

    /// By the id, not by the pixels.
    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.size == right.size && left.row == right.row && left.column == right.column
    }

    /// By the id, not by the pixels.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(row)
        hasher.combine(column)
    }
}
