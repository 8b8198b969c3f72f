import Foundation

/// Decodes blurred previews of images, encoded in a few letters (blurha.sh), to show until the image is available.
public enum BlurHash {
    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

    /// Returns nil if the text is invalid. Supports up to 9 × 9 components and sides of up to 64 pixels.
    public static func image(_ hash: String, width: Int, height: Int) -> TerminalImage? {
        let values = hash.utf8.prefix(200).map { digits.firstIndex(of: $0) }
        guard values.count >= 6, let size = values[0], size <= 80, let quantised = values[1] else { return nil }
        let (columns, rows) = (size % 9 + 1, size / 9 + 1)
        guard hash.utf8.count == 4 + 2 * columns * rows else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var number = 0
            for value in values[range] {
                guard let value else { return nil }
                number = number * 83 + value
            }
            return number
        }
        guard let average = number(2..<6) else { return nil }
        let maximum = Double(quantised + 1) / 166
        var colors = [[linear(average >> 16 & 255), linear(average >> 8 & 255), linear(average & 255)]]
        for index in 1..<max(columns * rows, 1) {
            guard let value = number(4 + 2 * index..<6 + 2 * index) else { return nil }
            colors.append(
                [value / (19 * 19), value / 19 % 19, value % 19].map { part in
                    let signed = (Double(part) - 9) / 9
                    return (signed < 0 ? -1 : 1) * signed * signed * maximum
                })
        }
        let (width, height) = (min(max(width, 1), 64), min(max(height, 1), 64))
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                var sums = [0.0, 0.0, 0.0]
                for j in 0..<rows {
                    for i in 0..<columns {
                        let basis =
                            cos(.pi * Double(x * i) / Double(width)) * cos(.pi * Double(y * j) / Double(height))
                        for channel in 0..<3 { sums[channel] += colors[j * columns + i][channel] * basis }
                    }
                }
                pixels += sums.map(encoded) + [255]
            }
        }
        return TerminalImage(width: width, height: height, pixels: pixels)
    }

    private static func linear(_ value: Int) -> Double {
        let part = Double(value) / 255
        return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
    }

    private static func encoded(_ value: Double) -> UInt8 {
        let part = min(max(value, 0), 1)
        let encoded = part <= 0.0031308 ? part * 12.92 : 1.055 * pow(part, 1 / 2.4) - 0.055
        return UInt8(encoded * 255 + 0.5)
    }
}
