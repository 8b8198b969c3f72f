/// A cache of images as sixels, for scrolling. An entry covers the rows of an image that are on the screen.
struct SixelCache: Sendable {
    private struct Key: Hashable {
        let id: UInt32
        let size: TerminalSize
        let rows: Range<Int>
        let cell: PixelSize
    }

    private static let maximumBytes = 4 << 20

    private var entries: [Key: String] = [:]
    private var bytes = 0

    mutating func bytes(_ placement: ImagePlacement, _ cell: PixelSize) -> String {
        let key = Key(id: placement.id, size: placement.size, rows: placement.imageRows, cell: cell)
        if let known = entries[key] { return known }
        let made = Sixel.bytes(placement, cell: cell)
        if bytes + made.utf8.count > Self.maximumBytes { (entries, bytes) = ([:], 0) }
        entries[key] = made
        bytes += made.utf8.count
        return made
    }
}
