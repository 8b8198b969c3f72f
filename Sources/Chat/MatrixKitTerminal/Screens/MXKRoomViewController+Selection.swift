import Foundation
import MatrixKit
public import MatrixProtocol
import TerminalUI

/// The selected message.
extension MXKRoomViewController {
    func click(_ mouse: TerminalMouse) -> Bool {
        let lines = viewport.lines(viewportSource(), rows: timelineRows)
        let row = mouse.row - timelineTop - (timelineRows - lines.count)
        guard lines.indices.contains(row), let eventId = lines[row].anchor else { return false }
        selectedEventId = selectedEventId == eventId ? nil : eventId
        return true
    }

    func select(previous: Bool) {
        guard let source = roomDataSource, source.numberOfCells > 0 else { return }
        func isChosen(_ event: MXEvent) -> Bool { !event.isState }
        var (index, ids) = (0, [String]())
        if let selectedEventId {
            index = source.indexOfCellData(withEventId: selectedEventId)
            if index == NSNotFound { index = source.numberOfCells - 1 }
            ids = source.cellData(at: index)?.events.filter(isChosen).map(\.eventId) ?? []
            if let place = ids.firstIndex(of: selectedEventId) {
                let next = place + (previous ? -1 : 1)
                if ids.indices.contains(next) { return choose(ids[next], at: index) }
            }
            index += previous ? -1 : 1
        } else {
            guard previous else { return }
            index = source.numberOfCells - 1
        }
        while (0..<source.numberOfCells).contains(index) {
            ids = source.cellData(at: index)?.events.filter(isChosen).map(\.eventId) ?? []
            if let id = previous ? ids.last : ids.first { return choose(id, at: index) }
            index += previous ? -1 : 1
        }
        if !previous { selectedEventId = nil }
    }

    /// Scrolls to an event and selects it.
    func go(to eventId: String) {
        viewport.go(to: eventId)
        selectedEventId = eventId
        setNeedsDisplay()
    }

    func choose(_ eventId: String, at index: Int) {
        selectedEventId = eventId
        viewport.reveal(index, viewportSource(), rows: timelineRows)
        paginateIfNeeded()
    }

    /// Returns the message that a command applies to: the selected one, or the newest suitable one.
    public func targetEvent(where fits: (MXEvent) -> Bool = { _ in true }) -> MXEvent? {
        guard let source = roomDataSource else { return nil }
        if let selectedEventId { return source.event(withEventId: selectedEventId) }
        for index in stride(from: source.numberOfCells - 1, through: 0, by: -1) {
            if let event = source.cellData(at: index)?.events.last(where: { !$0.isState && fits($0) }) { return event }
        }
        return nil
    }
}
