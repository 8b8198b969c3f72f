/// The screen of a terminal, as far as the project uses one. It scrolls without limit.
///
/// Widths are those of `wcwidth`, character by character, as in terminals without support for emoji sequences.
package struct TerminalScreen {
    package struct Cell: Hashable, Sendable {
        /// A character with its marks; empty in the second column of a wide character.
        package var text = " "
        /// The active SGR codes, in order.
        package var style: [String] = []
        package var link = ""
    }

    package private(set) var bells = 0
    /// Control characters and sequences that the project does not use, so another party wrote them.
    package private(set) var strange: [String] = []
    /// The active private modes, such as 2004.
    package private(set) var modes: Set<Int> = [7, 25]
    package private(set) var cursor = (row: 0, column: 0)
    package var columns: Int

    private var rows: [[Cell]] = [[]]
    private var pending: [UInt8] = []
    private var style: [String] = []
    private var link = ""

    package init(columns: Int) {
        self.columns = columns
    }

    package var marksPastes: Bool { modes.contains(2004) }

    package func cell(row: Int, column: Int) -> Cell {
        rows.indices.contains(row) && rows[row].indices.contains(column) ? rows[row][column] : Cell()
    }

    /// The lines without trailing spaces.
    package var lines: [String] {
        rows.map { row in
            let text = row.map(\.text).joined()
            return String(
                text.prefix(text.lastIndex { $0 != " " }.map { text.distance(from: text.startIndex, to: $0) + 1 } ?? 0))
        }
    }

    package mutating func feed(_ bytes: some Sequence<UInt8>) {
        pending += bytes
        // A partial character at the end stays pending.
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

    /// - Returns: The length of the sequence; `nil` if its end is missing.
    private mutating func sequence(_ scalars: ArraySlice<Unicode.Scalar>) -> Int? {
        let body = scalars.dropFirst()
        guard let bracket = body.first else { return nil }
        if "]_P^X".unicodeScalars.contains(bracket) {
            // A string, up to `ESC \\` or BEL.
            guard let end = body.dropFirst().firstIndex(where: { $0 == "\u{1B}" || $0 == "\u{7}" }),
                scalars[end] == "\u{7}" || end + 1 < scalars.endIndex
            else { return nil }
            told(bracket, String(String.UnicodeScalarView(body[..<end].dropFirst())))
            return end + (scalars[end] == "\u{7}" ? 1 : 2) - scalars.startIndex
        }
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
        case ("G", _): cursor.column = count - 1
        case ("H", _):
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            cursor = (max((numbers.first ?? 1) - 1, 0), max((numbers.dropFirst().first ?? 1) - 1, 0))
            while rows.count <= cursor.row { rows.append([]) }
        case ("J", ""):
            rows.removeSubrange((cursor.row + 1)...)
            rows[cursor.row] = Array(rows[cursor.row].prefix(cursor.column))
        case ("J", "2"): rows = Array(repeating: [], count: cursor.row + 1)
        case ("K", "2"): rows[cursor.row] = []
        case ("K", ""): rows[cursor.row] = Array(rows[cursor.row].prefix(cursor.column))
        case ("h", _) where parameters.hasPrefix("?"): modes.formUnion(Self.numbers(parameters))
        case ("l", _) where parameters.hasPrefix("?"): modes.subtract(Self.numbers(parameters))
        case ("m", _): apply(parameters)
        // Queries, and kitty's keys.
        case ("n", "6"), ("t", "16"), ("c", ""), ("p", "?2026$"), ("u", _): break
        case (let final, _): strange.append("CSI \(parameters)\(final)")
        }
        return end - scalars.startIndex + 1
    }

    /// Handles links; ignores titles, notifications, the clipboard and queries.
    private mutating func told(_ kind: Unicode.Scalar, _ words: String) {
        let fields = words.split(separator: ";", maxSplits: 2, omittingEmptySubsequences: false)
        if kind == "]", fields.count == 3, fields[0] == "8" {
            link = String(fields[2])
        } else if kind != "_" && !(kind == "]" && ["2", "9", "11", "52"].contains(fields[0])) {
            strange.append("ESC \(kind) \(words)")
        }
    }

    private static func numbers(_ parameters: String) -> [Int] {
        parameters.dropFirst().split(separator: ";").compactMap { Int($0) }
    }

    /// Keeps one foreground colour, one background colour and the flags.
    private mutating func apply(_ parameters: String) {
        var codes = parameters.split(separator: ";", omittingEmptySubsequences: false).map(String.init)[...]
        while let code = codes.popFirst() {
            switch Int(code) ?? 0 {
            case 0: style = []
            case 38, 48:
                let length = codes.first == "5" ? 2 : 4
                let color = ([code] + codes.prefix(length)).joined(separator: ";")
                codes = codes.dropFirst(length)
                set(color, isBackground: code == "48")
            case let number where (30...37).contains(number) || (90...97).contains(number):
                set(code, isBackground: false)
            case let number where (40...47).contains(number) || (100...107).contains(number):
                set(code, isBackground: true)
            case 39: set(nil, isBackground: false)
            case 49: set(nil, isBackground: true)
            case 1...9: style.append(code)
            default: strange.append("SGR \(code)")
            }
        }
        style.sort()
    }

    private mutating func set(_ color: String?, isBackground: Bool) {
        style.removeAll { $0.count > 1 && ($0.hasPrefix("4") || $0.hasPrefix("10")) == isBackground }
        if let color { style.append(color) }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x07: bells += 1
        case 0x0D: cursor.column = 0
        case 0x0A:
            cursor.row += 1
            if cursor.row == rows.count { rows.append([]) }
        case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: strange.append(scalar.escaped(asASCII: true))
        case 0x300...0x36F, 0x200D, 0xFE0F, 0x20E3:
            if cursor.column > 0, rows[cursor.row].count >= cursor.column {
                rows[cursor.row][cursor.column - 1].text.unicodeScalars.append(scalar)
            }
        default:
            let isWide =
                (0x1100...0x115F).contains(scalar.value) || (0x2E80...0xD7A3).contains(scalar.value)
                || (0x1F300...0x1FAFF).contains(scalar.value)
            put((isWide ? [String(scalar), ""] : [String(scalar)]).map { Cell(text: $0, style: style, link: link) })
        }
    }

    private mutating func put(_ cells: [Cell]) {
        if cursor.column + cells.count > columns, !modes.contains(7) {
            // A character that does not fit covers the last column.
            cursor.column = max(columns - cells.count, 0)
        } else if cursor.column + cells.count > columns {
            cursor = (cursor.row + 1, 0)
            if cursor.row == rows.count { rows.append([]) }
        }
        let missing = cursor.column + cells.count - rows[cursor.row].count
        if missing > 0 { rows[cursor.row] += Array(repeating: Cell(), count: missing) }
        for cell in cells {
            rows[cursor.row][cursor.column] = cell
            cursor.column += 1
        }
    }
}
