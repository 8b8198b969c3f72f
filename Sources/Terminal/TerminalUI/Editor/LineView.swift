import Basics

/// The layout of a prompt and a line in one terminal row. A line that is too long is shown around its cursor.
public struct LineView: Hashable {
    /// Text that is safe for the terminal. Never reaches the last column, where terminals differ.
    public let text: String
    /// The number of columns before the cursor.
    public let cursor: Int

    /// Creates a view of the part of the line around its cursor that fits into the columns.
    public init(prompt: String, before: String, after: String, columns: Int) {
        let room = max(columns - 1, 1)
        // The prompt leaves half of the row to the line.
        let (prompt, promptWidth) = Self.end(of: Self.cells(prompt), within: max(room / 2, 1))
        let (head, headWidth) = Self.end(of: Self.cells(before), within: room - promptWidth)
        var (tail, rest) = ("", room - promptWidth - headWidth)
        for cell in Self.cells(after) {
            rest -= cell.width
            guard rest >= 0 else { break }
            tail += cell.text
        }
        text = prompt + head + tail
        cursor = promptWidth + headWidth
    }

    private struct Cell {
        let text: String
        let width: Int
    }

    /// Returns the characters as displayed, escaped if they are unsafe.
    private static func cells(_ text: String) -> [Cell] {
        text.map { character in
            let shown = PeerText(String(character)).escaped
            return Cell(text: shown, width: WidthProfile.unicode.width(of: shown))
        }
    }

    private static func end(of cells: [Cell], within room: Int) -> (text: String, width: Int) {
        var (first, width) = (cells.count, 0)
        while first > 0, width + cells[first - 1].width <= room {
            first -= 1
            width += cells[first].width
        }
        return (cells[first...].map(\.text).joined(), width)
    }
}
