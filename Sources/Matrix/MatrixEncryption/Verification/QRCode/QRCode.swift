/// A QR code (ISO/IEC 18004) with one segment in byte mode.
package struct QRCode: Sendable, Equatable {
    /// The part of the code that may be damaged.
    package enum ErrorCorrection: Sendable {
        /// About 7 %.
        case low
        /// About 15 %.
        case medium
    }

    /// The version, 1…20. Each is 4 modules wider than the previous one.
    package let version: Int
    /// The pattern over the data, 0…7, which keeps them from looking like a finder.
    package let mask: Int
    /// The modules by row; true is dark.
    package let modules: [[Bool]]

    /// Creates a code of the smallest version that fits.
    ///
    /// - Parameter mask: 0…7; `nil` for the one with the least disturbing patterns.
    /// - Throws: `length` if the bytes don't fit into version 20: 858 bytes with low error correction, 666 with medium.
    package init(
        _ bytes: [UInt8], errorCorrection: ErrorCorrection = .low, mask: Int? = nil
    ) throws(EncryptionError) {
        guard let layout = QRCodeLayout.smallest(for: bytes.count, errorCorrection) else { throw .length }
        var matrix = QRCodeMatrix(version: layout.version)
        matrix.draw(codewords: layout.codewords(of: bytes))
        let masks = mask.map { $0...$0 } ?? 0...7
        let masked = masks.map { matrix.masked($0, errorCorrection) }
        let penalties = masked.map(\.penalty)
        let best = penalties.indices.min { penalties[$0] < penalties[$1] } ?? 0
        version = layout.version
        self.mask = masks.lowerBound + best
        modules = masked[best].modules
    }

    /// Returns the code as text, with two rows of modules per line, and with the quiet zone that scanners need.
    ///
    /// - Parameter isOnDark: Whether the terminal has a dark background, as most do. Blocks are then the light modules.
    package func lines(isOnDark: Bool = true) -> [String] {
        let quietZone = 4
        let columns = -quietZone..<modules.count + quietZone
        func isBlock(_ row: Int, _ column: Int) -> Bool {
            let isInside = modules.indices.contains(row) && modules.indices.contains(column)
            return (isInside && modules[row][column]) != isOnDark
        }
        return stride(from: columns.lowerBound, to: columns.upperBound, by: 2).map { row in
            columns.map { column in
                switch (isBlock(row, column), isBlock(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
        }
    }
}
