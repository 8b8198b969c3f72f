/// Aligns texts in terminal columns, in any script.
package enum ColumnLayout {
    /// The space between two columns.
    private static let gap = 2

    /// Returns rows with aligned columns, without trailing spaces and columns that are empty in every row.
    ///
    /// - Parameter width: The width of the terminal. Cells that are too long end in `…`; `nil` disables that.
    package static func table(_ rows: [[TerminalText]], width: Int?) -> [TerminalText] {
        var widths: [Int] = []
        for row in rows {
            widths += Array(repeating: 0, count: max(row.count - widths.count, 0))
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.width) }
        }
        if let width { widths = fitted(widths, to: width) }
        return rows.map { row in
            var line: TerminalText = ""
            var blank = 0
            for (text, width) in zip(row, widths) where width > 0 {
                let cell = text.cut(to: width)
                if !cell.isEmpty {
                    line = "\(line)\(spaces(blank))\(cell)"
                    blank = 0
                }
                blank += width - cell.width + gap
            }
            return width.map { line.cut(to: $0) } ?? line
        }
    }

    /// Shrinks the widest columns first, so that short ones stay complete.
    private static func fitted(_ widths: [Int], to width: Int) -> [Int] {
        let room = width - gap * max(widths.count { $0 > 0 } - 1, 0)
        var limit = max(room, 1)
        while limit > 1, widths.reduce(0, { $0 + min($1, limit) }) > room { limit -= 1 }
        return widths.map { min($0, limit) }
    }

    /// Arranges words in as many columns as fit, ordered from top to bottom.
    package static func grid(_ words: [TerminalText], width: Int) -> [TerminalText] {
        let widest = (words.map(\.width).max() ?? 0) + gap
        let columns = max((width + gap - 1) / widest, 1)
        let height = (words.count + columns - 1) / columns
        return (0..<height).map { row in
            var line: TerminalText = ""
            for index in stride(from: row, to: words.count, by: height) {
                let word = words[index].cut(to: width - 1)
                line = "\(line)\(word)\(index + height < words.count ? spaces(widest - word.width) : "")"
            }
            return line
        }
    }

    package static func spaces(_ count: Int) -> TerminalText {
        TerminalText(String(repeating: " ", count: max(count, 0)))
    }
}
