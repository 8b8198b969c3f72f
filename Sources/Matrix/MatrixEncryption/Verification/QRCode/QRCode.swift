/// A QR code (ISO/IEC 18004) of bytes, in one segment of byte mode.
package struct QRCode: Sendable, Equatable {
    /// How much of the code may be damaged.
    package enum ErrorCorrection: Sendable {
        /// About 7 %.
        case low
        /// About 15 %.
        case medium
    }

    /// 1…20. Each is 4 modules wider than the one before.
    package let version: Int
    /// 0…7: which pattern lies over the data, so that they hold nothing that looks like a finder.
    package let mask: Int
    /// Row by row; true is dark.
    package let modules: [[Bool]]

    /// Of the smallest version that holds the bytes.
    ///
    /// - Parameter mask: 0…7; nil for the one with the least disturbing patterns.
    /// - Throws: `length` if they don't fit into version 20: 858 bytes with low error correction, 666 with medium.
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

    /// The code as text, two rows of modules a line, with the quiet zone around it that scanners need.
    ///
    /// - Parameter isOnDark: Whether the terminal writes bright on dark, as most do: blocks are then the light modules.
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
