import MatrixKit
package import TerminalUI

/// The visible part of a long list of cells. Only that part is laid out.
///
/// The view is anchored at the end, where new cells scroll in, or at a line of a cell, which stays in place when cells
/// are added before it.
@MainActor
package struct CellViewport {
    /// The origin of the first line on the screen.
    struct Place {
        var index: Int
        /// The line within the cell.
        var line: Int
    }

    private struct Anchor {
        /// The ids of the first cell on the screen and of those after it, which replace it if it is removed.
        var ids: [String]
        /// The line within the first cell.
        var line: Int
    }

    private static let anchors = 20

    /// The list shown by the viewport.
    package struct Source {
        package var count: Int
        package var lines: (Int) -> [TerminalLine]
        /// Returns the id of a cell, unchanged during its lifetime.
        package var id: (Int) -> String?
        package var index: (String) -> Int?

        package init(
            count: Int, lines: @escaping (Int) -> [TerminalLine], id: @escaping (Int) -> String?,
            index: @escaping (String) -> Int?
        ) { (self.count, self.lines, self.id, self.index) = (count, lines, id, index) }
    }

    package init() {}

    /// The anchor; `nil` is the end.
    private var anchor: Anchor?

    /// Whether the view follows new cells once the last line is on the screen. The default is true.
    package var followsEnd = true

    package var isAtEnd: Bool { anchor == nil }

    /// The id of the cell at the top of the screen, if the view is not at the end.
    package var anchorId: String? { anchor?.ids.first }

    package mutating func goToEnd() { anchor = nil }

    /// Scrolls to the first line of a cell.
    package mutating func go(to id: String) { anchor = Anchor(ids: [id], line: 0) }

    /// Returns the lines on the screen from the top, at most `rows`.
    package mutating func lines(_ source: Source, rows: Int) -> [TerminalLine] {
        guard rows > 0 else { return [] }
        guard let top = top(source, rows: rows) else { return [] }
        var (lines, index) = ([TerminalLine](), top.index)
        while index < source.count, lines.count < rows + top.line {
            lines += source.lines(index)
            index += 1
        }
        return Array(lines.dropFirst(top.line).prefix(rows))
    }

    /// Returns whether fewer than `margin` lines precede the first line on the screen.
    package mutating func isNearStart(_ source: Source, rows: Int, margin: Int) -> Bool {
        guard var place = top(source, rows: rows) else { return true }
        var left = margin - place.line
        while left > 0, place.index > 0 {
            place.index -= 1
            left -= source.lines(place.index).count
        }
        return left > 0
    }

    /// Returns whether fewer than `margin` lines follow the last line on the screen.
    package mutating func isNearEnd(_ source: Source, rows: Int, margin: Int) -> Bool {
        guard let place = top(source, rows: rows) else { return true }
        var (left, index) = (rows + margin + place.line, place.index)
        while left > 0, index < source.count {
            left -= source.lines(index).count
            index += 1
        }
        return left > 0
    }

    /// Scrolls by a number of lines; negative is up.
    package mutating func scroll(by count: Int, _ source: Source, rows: Int) {
        guard var place = top(source, rows: rows), count != 0 else { return }
        place.line += count
        while place.line < 0, place.index > 0 {
            place.index -= 1
            place.line += source.lines(place.index).count
        }
        place.line = max(place.line, 0)
        while place.index < source.count, place.line >= source.lines(place.index).count {
            place.line -= source.lines(place.index).count
            place.index += 1
        }
        set(place, source, rows: rows)
    }

    /// Scrolls to a cell if it is not on the screen.
    package mutating func reveal(_ index: Int, _ source: Source, rows: Int) {
        guard let top = top(source, rows: rows), index < source.count else { return }
        if index < top.index || index == top.index && top.line > 0 {
            return set(Place(index: index, line: 0), source, rows: rows)
        }
        var below = -top.line
        for cell in top.index...index {
            below += source.lines(cell).count
            if below > rows + 200 { break }
        }
        if below > rows {
            // Align its last line with the bottom of the screen.
            var (place, left) = (Place(index: index, line: 0), rows - source.lines(index).count)
            while left > 0, place.index > 0 {
                place.index -= 1
                left -= source.lines(place.index).count
            }
            place.line = max(-left, 0)
            set(place, source, rows: rows)
        }
    }

    private mutating func set(_ place: Place, _ source: Source, rows: Int) {
        // At the end, nothing follows the screen.
        let end = endTop(source, rows: rows)
        var place = place
        if let end, (place.index, place.line) >= (end.index, end.line) || place.index >= source.count {
            guard !followsEnd else { return anchor = nil }
            place = end
        }
        let ids = (place.index..<min(place.index + Self.anchors, source.count)).compactMap(source.id)
        anchor = ids.isEmpty ? nil : Anchor(ids: ids, line: place.line)
    }

    private mutating func top(_ source: Source, rows: Int) -> Place? {
        guard source.count > 0 else { return nil }
        let end = endTop(source, rows: rows)
        guard let anchor else { return end }
        // If none of the cells exists, keep the anchor: they may return, for example after a flush.
        guard let found = anchor.ids.firstIndex(where: { source.index($0) != nil }),
            let index = source.index(anchor.ids[found])
        else { return end }
        let line = found == 0 ? anchor.line : 0
        let place = Place(index: index, line: min(line, max(source.lines(index).count - 1, 0)))
        if let end, (place.index, place.line) >= (end.index, end.line) {
            if followsEnd { self.anchor = nil }
            return end
        }
        return place
    }

    /// Returns the top of the screen when it shows the end.
    private func endTop(_ source: Source, rows: Int) -> Place? {
        guard source.count > 0 else { return nil }
        var (index, left) = (source.count, rows)
        while left > 0, index > 0 {
            index -= 1
            left -= source.lines(index).count
        }
        return Place(index: index, line: max(-left, 0))
    }
}
