/// Texts in columns that line up on a terminal, whatever script they are in.
enum ColumnLayout {
    /// Between two columns.
    private static let gap = 2

    /// Rows whose columns line up, without spaces at their ends.
    ///
    /// - Parameter width: Columns of the terminal; longer rows end in `…`. Nil cuts nothing.
    static func table(_ rows: [[TerminalText]], width: Int?) -> [TerminalText] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.indices.contains(column) ? DisplayWidth.of($0[column].text) : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                line += text.text
                guard row[(column + 1)...].contains(where: { !$0.isEmpty }) else { break }
                line += spaces(widths[column] + gap - DisplayWidth.of(text.text))
            }
            return TerminalText(cut(line, to: width))
        }
    }

    /// Words in as many columns as the terminal has room for, in order from top to bottom.
    static func grid(_ words: [TerminalText], width: Int) -> [TerminalText] {
        let widest = (words.map { DisplayWidth.of($0.text) }.max() ?? 0) + gap
        let columns = max((width + gap - 1) / widest, 1)
        let height = (words.count + columns - 1) / columns
        return (0..<height).map { row in
            var line = ""
            for index in stride(from: row, to: words.count, by: height) {
                let word = cut(words[index].text, to: width - 1)
                line += word + (index + height < words.count ? spaces(widest - DisplayWidth.of(word)) : "")
            }
            return TerminalText(line)
        }
    }

    /// The beginning of a text that is too wide, with `…` at its end.
    static func cut(_ text: String, to width: Int?) -> String {
        guard let width, DisplayWidth.of(text) > width else { return text }
        var (result, room) = ("", width - 1)
        for character in text {
            room -= DisplayWidth.of(character)
            guard room >= 0 else { break }
            result.append(character)
        }
        return result + "…"
    }

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: max(count, 0)) }
}
