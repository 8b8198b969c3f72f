import MatrixKit
import TerminalUI

/// Caches the laid-out lines of cells until the cells or their layout change.
@MainActor
final class LayoutCache {
    private struct Entry {
        let revision: Int
        let context: Int
        let lines: [TerminalLine]
        let actions: any MXKTerminalCell
    }

    /// The number of cached bubbles. Others are laid out again when they return to the screen.
    private static let capacity = 2000

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var layout: MXKCellLayout?
    /// A number that changes with any outside state that the cells show.
    var context = 0

    /// Returns a view of the class that the list's delegate has chosen, creating it if needed.
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
