/// What becomes of the images from one surface to the next. One that has moved is gone from its place, and new in another.
struct ImageChange {
    /// What is to be taken away.
    private(set) var gone: [ImagePlacement] = []
    /// What is to be put up.
    private(set) var new: [ImagePlacement] = []
    /// Rows that have to be painted whole. Only text takes sixels away.
    private(set) var spoiledRows: Set<Int> = []

    init(from old: TerminalSurface?, to surface: TerminalSurface, _ graphics: GraphicsProtocol) {
        let (before, now) = (old?.placements ?? [], surface.placements)
        switch graphics {
        case .halfBlocks: return
        case .kitty:
            gone = before.filter { !now.contains($0) }
            new = now.filter { !before.contains($0) }
        case .sixel:
            // Beside an image, text that changes may take some of it away.
            func isUntouched(_ placement: ImagePlacement) -> Bool {
                guard let old else { return false }
                return before.contains(placement)
                    && placement.rows.allSatisfy { old.lines[$0].cells == surface.lines[$0].cells }
            }
            new = now.filter { !isUntouched($0) }
            gone = before.filter { !now.contains($0) || new.contains($0) }
            spoiledRows = Set(gone.flatMap { Array($0.rows) })
            // What lies over a row that is painted again is put up again.
            new = now.filter { new.contains($0) || !spoiledRows.isDisjoint(with: $0.rows) }
        }
    }
}
