import Basics

/// How a prompt and a line look in one row of a terminal. A line that is too long is shown around its cursor.
public struct LineView: Hashable {
    /// Fit for the terminal; never reaches the last column, where terminals differ.
    public let text: String
    /// Columns before the cursor.
    public let cursor: Int

    /// The part of the line around its cursor that fits into the columns.
    public init(prompt: String, before: String, after: String, columns: Int) {
        let room = max(columns - 1, 1)
        // A prompt leaves half of the row to the line.
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

    /// Each character as the terminal shows it, escaped if it must not get there.
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
