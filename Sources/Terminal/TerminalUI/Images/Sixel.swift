/// Sixel graphics, as on DEC's VT340, with a palette of 6 × 6 × 6 colours.
enum Sixel {
    /// Returns those rows of the image that are on the screen, to be written at the cursor.
    static func bytes(_ placement: ImagePlacement, cell: PixelSize) -> String {
        let (size, rows) = (placement.size, placement.imageRows)
        let image = placement.first.image.scaled(width: size.columns * cell.width, height: size.rows * cell.height)
            .rows(rows.lowerBound * cell.height..<rows.upperBound * cell.height)
        var result = "\u{1B}P0;1;0q\"1;1;\(image.width);\(image.height)"
        for index in 0..<216 {
            let (red, green, blue) = (index / 36, index / 6 % 6, index % 6)
            result += "#\(index);2;\(red * 20);\(green * 20);\(blue * 20)"
        }
        for top in stride(from: 0, to: image.height, by: 6) {
            // A line break after the last band could scroll the whole screen.
            result += (top > 0 ? "-" : "") + band(image, top)
        }
        return result + "\u{1B}\\"
    }

    /// Returns a band of six rows, with one line for each of its colours, over the previous one.
    private static func band(_ image: TerminalImage, _ top: Int) -> String {
        var masks: [Int: [UInt8]] = [:]
        for y in top..<min(top + 6, image.height) {
            for x in 0..<image.width {
                guard case .rgb(let red, let green, let blue) = image.color(x: x, y: y) else { continue }
                func step(_ value: UInt8) -> Int { (Int(value) * 5 + 127) / 255 }
                let color = 36 * step(red) + 6 * step(green) + step(blue)
                masks[color, default: [UInt8](repeating: 0, count: image.width)][x] |= 1 << UInt8(y - top)
            }
        }
        return masks.sorted { $0.key < $1.key }.map { "#\($0.key)" + runs($0.value) }.joined(separator: "$")
    }

    private static func runs(_ mask: [UInt8]) -> String {
        var (result, index) = ("", 0)
        while index < mask.count {
            let end = mask[index...].firstIndex { $0 != mask[index] } ?? mask.count
            let sign = String(Unicode.Scalar(63 + mask[index]))
            result += end - index > 3 ? "!\(end - index)\(sign)" : String(repeating: sign, count: end - index)
            index = end
        }
        return result
    }
}
