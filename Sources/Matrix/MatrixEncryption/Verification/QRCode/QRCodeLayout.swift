/// The numbers of data and error correction bytes in a QR code.
struct QRCodeLayout {
    let version: Int
    private let blocks: Int
    /// The number of error correction bytes per block.
    private let correctionCount: Int

    /// Returns the smallest version for a number of bytes; `nil` if even the largest is too small.
    static func smallest(for count: Int, _ errorCorrection: QRCode.ErrorCorrection) -> QRCodeLayout? {
        (1...20).lazy.map { QRCodeLayout(version: $0, errorCorrection) }.first { $0.capacity >= count }
    }

    /// - Parameter version: 1…20.
    private init(version: Int, _ errorCorrection: QRCode.ErrorCorrection) {
        self.version = version
        let table = errorCorrection == .low ? Self.low : Self.medium
        (blocks, correctionCount) = table[version - 1]
    }

    /// The blocks and their error correction bytes, by version (ISO/IEC 18004, table 9).
    private static let low = [
        (1, 7), (1, 10), (1, 15), (1, 20), (1, 26), (2, 18), (2, 20), (2, 24), (2, 30), (4, 18),
        (4, 20), (4, 24), (4, 26), (4, 30), (6, 22), (6, 24), (6, 28), (6, 30), (7, 28), (8, 28),
    ]
    private static let medium = [
        (1, 10), (1, 16), (1, 26), (2, 18), (2, 24), (4, 16), (4, 18), (4, 22), (5, 22), (5, 26),
        (5, 30), (8, 22), (9, 22), (9, 24), (10, 24), (10, 28), (11, 28), (13, 26), (14, 26), (16, 26),
    ]

    /// The total number of bytes that fit next to the patterns.
    private var total: Int {
        var modules = (16 * version + 128) * version + 64
        if version >= 2 {
            let alignments = version / 7 + 2
            modules -= (25 * alignments - 10) * alignments - 55
            if version >= 7 { modules -= 36 }
        }
        return modules / 8
    }

    private var dataCount: Int { total - blocks * correctionCount }

    private var countBits: Int { version < 10 ? 8 : 16 }

    /// The number of message bytes that fit.
    private var capacity: Int { (8 * dataCount - 4 - countBits) / 8 }

    /// Returns data and error correction in drawing order.
    func codewords(of bytes: [UInt8]) -> [UInt8] {
        var rest = data(of: bytes)[...]
        let code = ReedSolomon(count: correctionCount)
        var blocks: [ArraySlice<UInt8>] = []
        for number in 0..<self.blocks {
            // The last blocks are a byte longer if the data don't divide evenly.
            let isLong = number >= self.blocks - total % self.blocks
            let block = rest.prefix(total / self.blocks - correctionCount + (isLong ? 1 : 0))
            blocks.append(block)
            rest = rest.dropFirst(block.count)
        }
        return interleaved(blocks) + interleaved(blocks.map { code.correction(of: $0)[...] })
    }

    /// Returns mode, length, bytes, terminator and padding.
    private func data(of bytes: [UInt8]) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            bits += (0..<count).reversed().map { value >> $0 & 1 == 1 }
        }
        append(0b0100, 4)
        append(bytes.count, countBits)
        for byte in bytes { append(Int(byte), 8) }
        append(0, min(4, 8 * dataCount - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var data = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        let filling: [UInt8] = [0xEC, 0x11]
        data += (0..<dataCount - data.count).map { filling[$0 % 2] }
        return data
    }

    /// Returns the first byte of each block, then the second of each, and so on.
    private func interleaved(_ blocks: [ArraySlice<UInt8>]) -> [UInt8] {
        (0..<(blocks.map(\.count).max() ?? 0)).flatMap { index in
            blocks.filter { index < $0.count }.map { $0[$0.startIndex + index] }
        }
    }
}

/// Reed-Solomon error correction over the field of 256 elements with x⁸ + x⁴ + x³ + x² + 1.
struct ReedSolomon {
    /// The factors of the generator polynomial, highest power first, without the leading 1.
    private let factors: [UInt8]

    /// - Parameter count: The number of correction bytes.
    init(count: Int) {
        var factors = [UInt8](repeating: 0, count: count)
        factors[count - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<count {
            // Multiply by (x − root).
            for index in factors.indices {
                factors[index] = Self.product(factors[index], root)
                if index + 1 < count { factors[index] ^= factors[index + 1] }
            }
            root = Self.product(root, 2)
        }
        self.factors = factors
    }

    func correction(of data: ArraySlice<UInt8>) -> [UInt8] {
        var remainder = [UInt8](repeating: 0, count: factors.count)
        for byte in data {
            let factor = byte ^ remainder.removeFirst()
            remainder.append(0)
            for (index, value) in factors.enumerated() { remainder[index] ^= Self.product(value, factor) }
        }
        return remainder
    }

    private static func product(_ lhs: UInt8, _ rhs: UInt8) -> UInt8 {
        var product = 0
        for bit in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7) * 0x11D
            product ^= Int(rhs >> bit & 1) * Int(lhs)
        }
        return UInt8(truncatingIfNeeded: product)
    }
}
