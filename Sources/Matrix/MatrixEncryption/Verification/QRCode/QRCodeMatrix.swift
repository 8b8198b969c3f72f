/// The modules of a QR code being drawn.
struct QRCodeMatrix {
    private(set) var modules: [[Bool]]
    /// Modules of patterns and format information, which hold no data and are not masked.
    private var isPattern: [[Bool]]
    private let version: Int

    private var size: Int { modules.count }

    /// Creates a matrix with the patterns that all codes of a version share.
    init(version: Int) {
        self.version = version
        let size = 4 * version + 17
        modules = Array(repeating: Array(repeating: false, count: size), count: size)
        isPattern = modules
        for index in 0..<size {
            setPattern(6, index, index % 2 == 0)
            setPattern(index, 6, index % 2 == 0)
        }
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawFinder(row, column) }
        drawAlignments()
        drawFormat(0)  // reserves the space
        drawVersion()
    }

    private mutating func setPattern(_ row: Int, _ column: Int, _ isDark: Bool) {
        modules[row][column] = isDark
        isPattern[row][column] = true
    }

    // MARK: Patterns

    /// Draws squares around a centre, with a light edge.
    private mutating func drawFinder(_ row: Int, _ column: Int) {
        for (down, right) in Self.square(4)
        where modules.indices.contains(row + down) && modules.indices.contains(column + right) {
            let distance = max(abs(down), abs(right))
            setPattern(row + down, column + right, distance != 2 && distance != 4)
        }
    }

    private mutating func drawAlignments() {
        guard version >= 2 else { return }
        let count = version / 7 + 2
        let step = (version * 8 + count * 3 + 5) / (count * 4 - 4) * 2
        let centres = [6] + (0..<count - 1).reversed().map { size - 7 - $0 * step }
        for row in centres {
            for column in centres where !isFinder(row, column) {
                for (down, right) in Self.square(2) {
                    setPattern(row + down, column + right, max(abs(down), abs(right)) != 1)
                }
            }
        }
    }

    private func isFinder(_ row: Int, _ column: Int) -> Bool {
        [(6, 6), (6, size - 7), (size - 7, 6)].contains { $0 == (row, column) }
    }

    private static func square(_ distance: Int) -> [(Int, Int)] {
        (-distance...distance).flatMap { down in (-distance...distance).map { (down, $0) } }
    }

    /// Draws error correction and mask, twice.
    ///
    /// - Parameter data: 5 bits.
    private mutating func drawFormat(_ data: Int) {
        var remainder = data
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        let bits = (data << 10 | remainder) ^ 0x5412
        func isSet(_ bit: Int) -> Bool { bits >> bit & 1 == 1 }
        for bit in 0..<15 {
            switch bit {
            case 0...5: setPattern(bit, 8, isSet(bit))
            case 6, 7: setPattern(bit + 1, 8, isSet(bit))
            case 8: setPattern(8, 7, isSet(bit))
            default: setPattern(8, 14 - bit, isSet(bit))
            }
            if bit < 8 {
                setPattern(8, size - 1 - bit, isSet(bit))
            } else {
                setPattern(size - 15 + bit, 8, isSet(bit))
            }
        }
        setPattern(size - 8, 8, true)
    }

    private mutating func drawVersion() {
        guard version >= 7 else { return }
        var remainder = version
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25 }
        let bits = version << 12 | remainder
        for bit in 0..<18 {
            let (far, near) = (size - 11 + bit % 3, bit / 3)
            setPattern(far, near, bits >> bit & 1 == 1)
            setPattern(near, far, bits >> bit & 1 == 1)
        }
    }

    // MARK: Data

    /// Draws two columns at a time from the right, alternately up and down.
    mutating func draw(codewords: [UInt8]) {
        var bit = 0
        for pair in 0..<(size - 1) / 2 {
            var right = size - 1 - 2 * pair
            if right <= 6 { right -= 1 }  // skip the column of the timing pattern
            for step in 0..<size {
                let row = pair % 2 == 0 ? size - 1 - step : step
                for column in [right, right - 1] where !isPattern[row][column] && bit < 8 * codewords.count {
                    modules[row][column] = codewords[bit / 8] >> (7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }

    /// - Parameter mask: 0…7.
    func masked(_ mask: Int, _ errorCorrection: QRCode.ErrorCorrection) -> QRCodeMatrix {
        var masked = self
        for row in modules.indices {
            for column in modules.indices where !isPattern[row][column] && Self.inverts(mask, row, column) {
                masked.modules[row][column].toggle()
            }
        }
        masked.drawFormat((errorCorrection == .low ? 1 : 0) << 3 | mask)
        return masked
    }

    private static func inverts(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    // MARK: Mask penalty

    /// The penalty. The lower it is, the easier the code is to read.
    var penalty: Int {
        let columns = modules.indices.map { column in modules.map { $0[column] } }
        let lines = (modules + columns).reduce(0) { $0 + Self.penalty(of: $1) }
        var squares = 0
        for row in 1..<size {
            for column in 1..<size {
                let module = modules[row][column]
                if module == modules[row - 1][column], module == modules[row][column - 1],
                    module == modules[row - 1][column - 1]
                {
                    squares += 3
                }
            }
        }
        let dark = modules.reduce(0) { $0 + $1.count { $0 } }
        let imbalance = abs(20 * dark - 10 * size * size) / (size * size) * 10
        return lines + squares + imbalance
    }

    /// Returns the penalty of runs of one colour, and of patterns that look like a finder.
    private static func penalty(of line: [Bool]) -> Int {
        var (penalty, run, recent) = (0, 0, 0)
        for index in line.indices {
            run = index > 0 && line[index] == line[index - 1] ? run + 1 : 1
            if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
            recent = (recent << 1 | (line[index] ? 1 : 0)) & 0b111_1111_1111
            if index >= 10, recent == 0b101_1101_0000 || recent == 0b000_0101_1101 { penalty += 40 }
        }
        return penalty
    }
}
