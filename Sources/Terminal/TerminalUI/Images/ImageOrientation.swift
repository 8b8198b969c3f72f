/// How the rows and columns of a stored image lie in what is shown (Exif 2.3, tag 274; its numbers are the raw values).
public enum ImageOrientation: Int, Hashable, Sendable {
    /// As it is stored.
    case upright = 1
    /// Left and right change places.
    case mirrored
    /// By 180 degrees.
    case upsideDown
    /// Top and bottom change places.
    case flipped
    /// Rows become columns.
    case transposed
    /// By 90 degrees, clockwise.
    case turnedRight
    /// Rows become columns, from the other corner.
    case transversed
    /// By 90 degrees, counterclockwise.
    case turnedLeft

    /// Whether width and height change places.
    var swapsSides: Bool {
        switch self {
        case .upright, .mirrored, .upsideDown, .flipped: false
        case .transposed, .turnedRight, .transversed, .turnedLeft: true
        }
    }

    /// Where a pixel of what is shown comes from, in an image of that size.
    func source(x: Int, y: Int, width: Int, height: Int) -> (x: Int, y: Int) {
        switch self {
        case .upright: (x, y)
        case .mirrored: (width - 1 - x, y)
        case .upsideDown: (width - 1 - x, height - 1 - y)
        case .flipped: (x, height - 1 - y)
        case .transposed: (y, x)
        case .turnedRight: (y, height - 1 - x)
        case .transversed: (width - 1 - y, height - 1 - x)
        case .turnedLeft: (width - 1 - y, x)
        }
    }
}

extension TerminalImage {
    /// As it is to be seen.
    func turned(_ orientation: ImageOrientation) -> TerminalImage {
        guard orientation != .upright else { return self }
        let (newWidth, newHeight) = orientation.swapsSides ? (height, width) : (width, height)
        var result = [UInt8]()
        result.reserveCapacity(pixels.count)
        for y in 0..<newHeight {
            for x in 0..<newWidth {
                let source = orientation.source(x: x, y: y, width: width, height: height)
                let offset = 4 * (source.y * width + source.x)
                result += pixels[offset..<offset + 4]
            }
        }
        return TerminalImage(unchecked: newWidth, newHeight, result)
    }
}
