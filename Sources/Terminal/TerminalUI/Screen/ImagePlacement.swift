/// The rows of an image that are on a screen, and their position.
struct ImagePlacement: Hashable {
    let first: TerminalLineImage
    /// The rows on the screen.
    var rows: Range<Int>

    var id: UInt32 { first.id }
    var column: Int { first.column }
    var size: TerminalSize { first.size }
    /// The rows of the image, in cells.
    var imageRows: Range<Int> { first.row..<first.row + rows.count }
}

extension TerminalSurface {
    /// The images, ordered by their rows.
    var placements: [ImagePlacement] {
        var placements: [ImagePlacement] = []
        for (row, line) in lines.enumerated() {
            guard let image = line.image else { continue }
            if let last = placements.last, last.rows.upperBound == row, last.id == image.id, last.size == image.size,
                last.column == image.column, last.imageRows.upperBound == image.row
            {
                placements[placements.count - 1].rows = last.rows.lowerBound..<row + 1
            } else {
                placements.append(ImagePlacement(first: image, rows: row..<row + 1))
            }
        }
        return placements
    }

    /// Returns the surface with blank cells where images cover them.
    func withBlanksUnderImages() -> TerminalSurface {
        guard lines.contains(where: { $0.image != nil }) else { return self }
        var surface = self
        for (row, line) in lines.enumerated() where line.image != nil { surface.blankUnderImage(row) }
        return surface
    }
}
