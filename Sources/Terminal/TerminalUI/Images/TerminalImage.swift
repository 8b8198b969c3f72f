/// An image of red, green, blue and opacity bytes, in rows from the top.
public struct TerminalImage: Hashable, Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The pixels, four bytes each.
    public let pixels: [UInt8]

    /// Returns nil unless the number of bytes matches the size.
    public init?(width: Int, height: Int, pixels: [UInt8]) {
        guard width > 0, height > 0, pixels.count == 4 * width * height else { return nil }
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }

    /// Decodes a file of a supported format: PNG, and JPEG with the trait `JPEGImages`. Returns nil for other formats,
    /// and for an image that is damaged or too large.
    public init?(file bytes: some Collection<UInt8>) {
        #if JPEGImages
            if let image = try? JPEG.decode(bytes) {
                self = image
                return
            }
        #endif
        guard let image = try? PNG.decode(bytes) else { return nil }
        self = image
    }

    /// Returns a scaled image, in which each pixel is the mean of the original pixels that it covers.
    public func scaled(width newWidth: Int, height newHeight: Int) -> TerminalImage {
        let (newWidth, newHeight) = (max(newWidth, 1), max(newHeight, 1))
        guard newWidth != width || newHeight != height else { return self }
        var result = [UInt8](repeating: 0, count: 4 * newWidth * newHeight)
        for y in 0..<newHeight {
            let rows = (y * height / newHeight)..<max((y + 1) * height / newHeight, y * height / newHeight + 1)
            for x in 0..<newWidth {
                let columns = (x * width / newWidth)..<max((x + 1) * width / newWidth, x * width / newWidth + 1)
                var (sums, opacity, count) = ([0, 0, 0], 0, 0)
                for row in rows {
                    for column in columns {
                        let offset = 4 * (row * width + column)
                        let weight = Int(pixels[offset + 3])
                        for index in 0..<3 { sums[index] += Int(pixels[offset + index]) * weight }
                        opacity += weight
                        count += 1
                    }
                }
                let offset = 4 * (y * newWidth + x)
                for index in 0..<3 { result[offset + index] = UInt8(opacity > 0 ? sums[index] / opacity : 0) }
                result[offset + 3] = UInt8(opacity / count)
            }
        }
        return TerminalImage(unchecked: newWidth, newHeight, result)
    }

    /// Returns the largest size in cells that keeps the proportions within these bounds. A cell is twice as high as it
    /// is wide.
    public func cells(within size: TerminalSize) -> TerminalSize {
        let scale = min(
            Double(size.columns) / Double(width), Double(2 * size.rows) / Double(height), 1)
        return TerminalSize(
            columns: max(Int((Double(width) * scale).rounded()), 1),
            rows: max(Int((Double(height) * scale / 2).rounded(.up)), 1))
    }

    /// Returns the image as lines: as cells with two colours each, and with its pixels for terminals that can show
    /// them.
    ///
    /// - Parameter id: Identifies the image for as long as it may be on the screen.
    public func lines(_ size: TerminalSize, id: UInt32, anchor: String? = nil) -> [TerminalLine] {
        let image = scaled(width: size.columns, height: 2 * size.rows)
        return (0..<size.rows).map { row in
            let cells = (0..<size.columns).map { column in
                Self.halfBlock(image.color(x: column, y: 2 * row), image.color(x: column, y: 2 * row + 1))
            }
            var line = TerminalLine(cells, anchor: anchor)
            line.image = TerminalLineImage(id: id, image: self, size: size, row: row)
            return line
        }
    }

    func rows(_ range: Range<Int>) -> TerminalImage {
        let range = range.clamped(to: 0..<height)
        guard !range.isEmpty else { return self }
        return TerminalImage(
            unchecked: width, range.count, Array(pixels[4 * width * range.lowerBound..<4 * width * range.upperBound]))
    }

    private static func halfBlock(_ upper: TerminalColor?, _ lower: TerminalColor?) -> TerminalCell {
        switch (upper, lower) {
        case (nil, nil): .blank
        case (let upper?, let lower): TerminalCell("▀", style: TerminalStyle(upper, on: lower ?? .standard))
        case (nil, let lower?): TerminalCell("▄", style: TerminalStyle(lower))
        }
    }

    init(unchecked width: Int, _ height: Int, _ pixels: [UInt8]) {
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }

    /// Returns the colour of a pixel over black; nil if it is more transparent than opaque.
    func color(x: Int, y: Int) -> TerminalColor? {
        guard x < width, y < height else { return nil }
        let offset = 4 * (y * width + x)
        guard pixels[offset + 3] >= 128 else { return nil }
        return .rgb(pixels[offset], pixels[offset + 1], pixels[offset + 2])
    }
}

/// A method by which a terminal shows images.
public enum GraphicsProtocol: Hashable, Sendable {
    /// With `▀` in two colours per cell; works in every terminal.
    case halfBlocks
    /// Sixel graphics, in cells of this size.
    case sixel(cell: PixelSize)
    /// Kitty's graphics protocol.
    case kitty
}

/// A size in pixels.
public struct PixelSize: Hashable, Sendable {
    /// The horizontal size.
    public var width: Int
    /// The vertical size.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}
