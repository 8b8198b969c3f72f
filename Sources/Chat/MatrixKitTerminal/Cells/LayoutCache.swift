import MatrixKit
import TerminalUI

/// Keeps the lines of cells as long as neither they nor how they are laid out change.
@MainActor
final class LayoutCache {
    private struct Entry {
        let revision: Int
        let context: Int
        let lines: [TerminalLine]
        let actions: any MXKTerminalCell
    }

    /// Bubbles beyond those that are looked at are laid out again when they come back.
    private static let capacity = 2000

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var layout: MXKCellLayout?
    /// Something around the cells has changed that they show.
    var context = 0

    /// Makes a view of a class that the delegate of the list has chosen, unless one is there.
    func cell(
        for data: MXKCellData, _ layout: MXKCellLayout, make: () -> (any MXKTerminalCell)?
    ) -> (lines: [TerminalLine], cell: any MXKTerminalCell)? {
        if self.layout != layout {
            self.layout = layout
            entries = [:]
        }
        let revision = (data as? MXKRoomBubbleCellData)?.revision
        let id = ObjectIdentifier(data)
        if let revision, let entry = entries[id], entry.revision == revision, entry.context == context {
            return (entry.lines, entry.actions)
        }
        guard let cell = make() else { return nil }
        cell.render(data)
        let lines = cell.lines(layout)
        if let revision {
            if entries.count >= Self.capacity { entries = [:] }
            entries[id] = Entry(revision: revision, context: context, lines: lines, actions: cell)
        }
        return (lines, cell)
    }

    func forget() { entries = [:] }
}
