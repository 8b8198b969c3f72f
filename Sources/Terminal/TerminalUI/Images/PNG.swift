import CZlib
import Foundation

/// Decodes PNG images (RFC 2083; the third edition of the specification).
///
/// Images are untrusted: an image's size is checked before memory is allocated for it.
public enum PNG {
    /// The reason why an image was not decoded.
    public enum Failure: Error, Hashable, Sendable {
        case notPNG
        /// The image is damaged or truncated.
        case damaged
        /// The image exceeds ``maximumSide`` or ``maximumBytes``.
        case tooLarge
    }

    /// The maximum longer side in pixels.
    public static let maximumSide = 16_384
    /// The maximum size of the pixels, at four bytes each.
    public static let maximumBytes = 64 << 20

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private struct Header {
        let width: Int
        let height: Int
        let depth: Int
        let color: UInt8
        let isInterlaced: Bool

        var channels: Int {
            switch color {
            case 2: 3
            case 4: 2
            case 6: 4
            default: 1
            }
        }

        var bitsPerPixel: Int { channels * depth }

        func rowBytes(_ width: Int) -> Int { (width * bitsPerPixel + 7) / 8 }

        init(_ data: ArraySlice<UInt8>) throws(Failure) {
            guard data.count == 13 else { throw .damaged }
            let bytes = Array(data)
            (width, height) = (PNG.number(bytes[0..<4]), PNG.number(bytes[4..<8]))
            (depth, color) = (Int(bytes[8]), bytes[9])
            isInterlaced = bytes[12] == 1
            let depths: [UInt8: [Int]] = [
                0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
            ]
            guard width > 0, height > 0, bytes[10] == 0, bytes[11] == 0, bytes[12] <= 1,
                depths[color]?.contains(depth) == true
            else { throw .damaged }
            guard width <= PNG.maximumSide, height <= PNG.maximumSide, 4 * width * height <= PNG.maximumBytes else {
                throw .tooLarge
            }
        }

        /// The passes of Adam7, or the whole image as one pass: the start and the steps between pixels.
        var passes: [(x: Int, y: Int, dx: Int, dy: Int)] {
            isInterlaced
                ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
                : [(0, 0, 1, 1)]
        }

        func size(of pass: (x: Int, y: Int, dx: Int, dy: Int)) -> (width: Int, height: Int) {
            ((width - pass.x + pass.dx - 1) / pass.dx, (height - pass.y + pass.dy - 1) / pass.dy)
        }

        /// The size of the rows of all passes, with a filter byte for each row.
        var dataSize: Int {
            passes.reduce(0) { total, pass in
                let size = size(of: pass)
                return size.width > 0 && size.height > 0 ? total + size.height * (1 + rowBytes(size.width)) : total
            }
        }
    }

    /// Decodes an image. Checksums are ignored: a damaged image is shown as far as possible.
    public static func decode(_ data: some Collection<UInt8>) throws(Failure) -> TerminalImage {
        let bytes = Array(data)
        guard bytes.starts(with: signature) else { throw .notPNG }
        var header: Header?
        var (palette, transparency, packed) = ([UInt8](), [UInt8](), [UInt8]())
        var offset = signature.count
        chunks: while true {
            guard offset + 12 <= bytes.count else { throw .damaged }
            let length = number(bytes[offset..<offset + 4])
            let kind = String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self)
            guard length <= bytes.count - offset - 12 else { throw .damaged }
            let body = bytes[offset + 8..<offset + 8 + length]
            offset += 12 + length
            switch kind {
            case "IHDR" where header == nil: header = try Header(body)
            case "PLTE": palette = Array(body.prefix(768))
            case "tRNS": transparency = Array(body.prefix(256))
            case "IDAT": packed += body
            case "IEND": break chunks
            default: continue
            }
        }
        guard let header else { throw .damaged }
        let rows = try inflated(packed, size: header.dataSize)
        return try image(header, rows, palette: palette, transparency: transparency)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    /// Returns exactly as many bytes as the image has and ignores the rest.
    private static func inflated(_ packed: [UInt8], size: Int) throws(Failure) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: size)
        var count = uLongf(size)
        let status = packed.withUnsafeBufferPointer { source in
            result.withUnsafeMutableBufferPointer { target in
                uncompress(target.baseAddress, &count, source.baseAddress, uLong(source.count))
            }
        }
        // The buffer is full before the end: there are too many rows.
        guard status == Z_OK || status == Z_BUF_ERROR, count == uLongf(size) else { throw .damaged }
        return result
    }

    // MARK: Pixels

    private static func image(
        _ header: Header, _ data: [UInt8], palette: [UInt8], transparency: [UInt8]
    ) throws(Failure) -> TerminalImage {
        var pixels = [UInt8](repeating: 0, count: 4 * header.width * header.height)
        let reader = PixelReader(
            depth: header.depth, color: header.color, channels: header.channels, palette: palette,
            transparency: transparency)
        let step = max(header.bitsPerPixel / 8, 1)
        var offset = 0
        for pass in header.passes {
            let size = header.size(of: pass)
            guard size.width > 0, size.height > 0 else { continue }
            let length = header.rowBytes(size.width)
            var above = [UInt8](repeating: 0, count: length)
            for row in 0..<size.height {
                let line = try unfiltered(
                    data[offset + 1..<offset + 1 + length], filter: data[offset], above: above, step: step)
                for column in 0..<size.width {
                    let target = 4 * ((pass.y + row * pass.dy) * header.width + pass.x + column * pass.dx)
                    try reader.read(line, column) { pixels[target + $0] = $1 }
                }
                above = line
                offset += 1 + length
            }
        }
        guard let image = TerminalImage(width: header.width, height: header.height, pixels: pixels) else {
            throw .damaged
        }
        return image
    }

    private static func unfiltered(
        _ filtered: ArraySlice<UInt8>, filter: UInt8, above: [UInt8], step: Int
    ) throws(Failure) -> [UInt8] {
        var line = Array(filtered)
        switch filter {
        case 0: break
        case 1: for index in line.indices.dropFirst(step) { line[index] &+= line[index - step] }
        case 2: for index in line.indices { line[index] &+= above[index] }
        case 3:
            for index in line.indices {
                let left = index >= step ? Int(line[index - step]) : 0
                line[index] &+= UInt8((left + Int(above[index])) / 2)
            }
        case 4:
            for index in line.indices {
                let left = index >= step ? Int(line[index - step]) : 0
                let corner = index >= step ? Int(above[index - step]) : 0
                line[index] &+= paeth(left, Int(above[index]), corner)
            }
        default: throw .damaged
        }
        return line
    }

    private static func paeth(_ left: Int, _ above: Int, _ corner: Int) -> UInt8 {
        let estimate = left + above - corner
        let (a, b, c) = (abs(estimate - left), abs(estimate - above), abs(estimate - corner))
        return UInt8(a <= b && a <= c ? left : b <= c ? above : corner)
    }

    private struct PixelReader {
        let depth: Int
        let color: UInt8
        let channels: Int
        let palette: [UInt8]
        let transparency: [UInt8]

        /// Sets the four bytes of the pixel at a column.
        func read(_ line: [UInt8], _ column: Int, _ set: (Int, UInt8) -> Void) throws(Failure) {
            func sample(_ channel: Int) -> Int {
                let index = column * channels + channel
                switch depth {
                case 16: return Int(line[2 * index]) << 8 | Int(line[2 * index + 1])
                case 8: return Int(line[index])
                default:
                    let bit = index * depth
                    return Int(line[bit / 8]) >> (8 - depth - bit % 8) & ((1 << depth) - 1)
                }
            }
            func byte(_ sample: Int) -> UInt8 {
                depth == 16 ? UInt8(sample >> 8) : UInt8(sample * 255 / ((1 << depth) - 1))
            }
            func key(_ channel: Int) -> Int? {
                transparency.count >= 2 * channel + 2
                    ? Int(transparency[2 * channel]) << 8 | Int(transparency[2 * channel + 1]) : nil
            }
            switch color {
            case 3:
                let index = sample(0)
                guard 3 * index + 2 < palette.count else { throw .damaged }
                for channel in 0..<3 { set(channel, palette[3 * index + channel]) }
                set(3, index < transparency.count ? transparency[index] : 255)
            case 0, 4:
                let grey = sample(0)
                for channel in 0..<3 { set(channel, byte(grey)) }
                set(3, color == 4 ? byte(sample(1)) : key(0) == grey ? 0 : 255)
            default:
                for channel in 0..<3 { set(channel, byte(sample(channel))) }
                let isKey = color == 2 && (0..<3).allSatisfy { key($0) == sample($0) }
                set(3, color == 6 ? byte(sample(3)) : isKey ? 0 : 255)
            }
        }
    }
}
