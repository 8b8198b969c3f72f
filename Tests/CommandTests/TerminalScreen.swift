/// What a terminal shows of the bytes that it got, as far as `pusher-cli` uses it. It scrolls without end.
struct TerminalScreen {
    private(set) var bells = 0
    /// Control characters and sequences that the shell has no use for: somebody else's.
    private(set) var strange: [String] = []
    private(set) var marksPastes = false
    private(set) var cursor = (row: 0, column: 0)
    var columns: Int

    /// Each cell is a character with its marks; the second column of a wide one is empty.
    private var rows: [[String]] = [[]]
    private var pending: [UInt8] = []

    init(columns: Int) {
        self.columns = columns
    }

    /// Without the spaces at their ends.
    var lines: [String] {
        rows.map { row in
            let text = row.joined()
            return String(
                text.prefix(text.lastIndex { $0 != " " }.map { text.distance(from: text.startIndex, to: $0) + 1 } ?? 0))
        }
    }

    mutating func feed(_ bytes: some Sequence<UInt8>) {
        pending += bytes
        // What is cut off in the middle of a character waits.
        var end = pending.count
        if let last = pending.lastIndex(where: { $0 & 0xC0 != 0x80 }), pending[last] >= 0xC0 {
            let length = pending[last] >= 0xF0 ? 4 : pending[last] >= 0xE0 ? 3 : 2
            if last + length > pending.count { end = last }
        }
        var scalars = Array(String(decoding: pending[..<end], as: UTF8.self).unicodeScalars)[...]
        let rest = Array(pending[end...])
        pending = []
        while let scalar = scalars.first {
            if scalar == "\u{1B}" {
                guard let length = sequence(scalars) else {
                    pending = scalars.flatMap { Array(String($0).utf8) }
                    break
                }
                scalars = scalars.dropFirst(length)
            } else {
                put(scalar)
                scalars = scalars.dropFirst()
            }
        }
        pending += rest
    }

    /// - Returns: Its length; nil if its end is missing.
    private mutating func sequence(_ scalars: ArraySlice<Unicode.Scalar>) -> Int? {
        let body = scalars.dropFirst()
        guard let bracket = body.first else { return nil }
        guard bracket == "[" else {
            strange.append("ESC \(bracket.escaped(asASCII: true))")
            return 2
        }
        guard let end = body.dropFirst().firstIndex(where: { (0x40...0x7E).contains($0.value) }) else { return nil }
        let parameters = String(String.UnicodeScalarView(scalars[body.startIndex + 1..<end]))
        let count = Int(parameters) ?? 1
        switch (scalars[end], parameters) {
        case ("A", _): cursor.row = max(cursor.row - count, 0)
        case ("C", _): cursor.column += count
        case ("H", ""): cursor = (0, 0)
        case ("J", ""):
            rows.removeSubrange((cursor.row + 1)...)
            rows[cursor.row] = Array(rows[cursor.row].prefix(cursor.column))
        case ("J", "2"): rows = [[]]
        case ("K", ""): rows[cursor.row] = Array(rows[cursor.row].prefix(cursor.column))
        case ("h", "?2004"): marksPastes = true
        case ("l", "?2004"): marksPastes = false
        case ("m", "0"), ("m", "1"), ("m", "2"), ("m", "36"): break
        case (let final, _): strange.append("CSI \(parameters)\(final)")
        }
        return end - scalars.startIndex + 1
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x07: bells += 1
        case 0x0D: cursor.column = 0
        case 0x0A:
            cursor.row += 1
            if cursor.row == rows.count { rows.append([]) }
        case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: strange.append(scalar.escaped(asASCII: true))
        case 0x300...0x36F, 0x200D, 0xFE0F:
            if cursor.column > 0, rows[cursor.row].count >= cursor.column {
                rows[cursor.row][cursor.column - 1].unicodeScalars.append(scalar)
            }
        default:
            let isWide =
                (0x1100...0x115F).contains(scalar.value) || (0x2E80...0xD7A3).contains(scalar.value)
                || (0x1F300...0x1FAFF).contains(scalar.value)
            put(isWide ? [String(scalar), ""] : [String(scalar)])
        }
    }

    private mutating func put(_ cells: [String]) {
        if cursor.column + cells.count > columns {
            cursor = (cursor.row + 1, 0)
            if cursor.row == rows.count { rows.append([]) }
        }
        let missing = cursor.column + cells.count - rows[cursor.row].count
        if missing > 0 { rows[cursor.row] += Array(repeating: " ", count: missing) }
        for cell in cells {
            rows[cursor.row][cursor.column] = cell
            cursor.column += 1
        }
    }
}
