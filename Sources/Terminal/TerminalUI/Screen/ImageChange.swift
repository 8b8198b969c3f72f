/// The changes of images from one surface to the next. An image that moved is removed at one place and added at
/// another.
struct ImageChange {
    /// The images to remove.
    private(set) var gone: [ImagePlacement] = []
    /// The images to add.
    private(set) var new: [ImagePlacement] = []
    /// The rows to repaint completely. Only text removes sixels.
    private(set) var spoiledRows: Set<Int> = []

    init(from old: TerminalSurface?, to surface: TerminalSurface, _ graphics: GraphicsProtocol) {
        let (before, now) = (old?.placements ?? [], surface.placements)
        switch graphics {
        case .halfBlocks: return
        case .kitty:
            gone = before.filter { !now.contains($0) }
            new = now.filter { !before.contains($0) }
        case .sixel:
            // Changed text next to an image may erase some of it.
            func isUntouched(_ placement: ImagePlacement) -> Bool {
                guard let old else { return false }
                return before.contains(placement)
                    && placement.rows.allSatisfy { old.lines[$0].cells == surface.lines[$0].cells }
            }
            new = now.filter { !isUntouched($0) }
            gone = before.filter { !now.contains($0) || new.contains($0) }
            spoiledRows = Set(gone.flatMap { Array($0.rows) })
            // Images that cover a repainted row are drawn again.
            new = now.filter { new.contains($0) || !spoiledRows.isDisjoint(with: $0.rows) }
        }
    }
}
