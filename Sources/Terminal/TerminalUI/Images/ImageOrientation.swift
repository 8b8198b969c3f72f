/// The orientation of a stored image (Exif 2.3, tag 274, whose numbers are the raw values).
public enum ImageOrientation: Int, Hashable, Sendable {
    /// Displayed as stored.
    case upright = 1
    /// Mirrored horizontally.
    case mirrored
    /// Rotated by 180 degrees.
    case upsideDown
    /// Mirrored vertically.
    case flipped
    /// Rows become columns.
    case transposed
    /// Rotated by 90 degrees clockwise.
    case turnedRight
    /// Rows become columns, from the other corner.
    case transversed
    /// Rotated by 90 degrees counterclockwise.
    case turnedLeft

    var swapsSides: Bool {
        switch self {
        case .upright, .mirrored, .upsideDown, .flipped: false
        case .transposed, .turnedRight, .transversed, .turnedLeft: true
        }
    }

    /// Returns the source position of a displayed pixel, in an image of that size.
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
    /// Returns the image in its display orientation.
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
