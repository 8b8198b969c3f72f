import MatrixProtocol
import MatrixSDK

/// What an open room keeps in memory.
extension MXKRoomDataSource {
    /// Forgets the oldest bubbles of a live room; paging backwards brings them again.
    ///
    /// For whoever shows the newest ones. Nothing happens while a page is under way, and for cells that are no
    /// ``MXKRoomBubbleCellData``: the room's state before them is not known.
    ///
    /// - Parameter count: Bubbles that stay, about.
    public func forgetOlder(keeping count: Int) {
        guard isLive, threadId == nil, state == .ready, !pages.isRunning, count > 0, list.count > count else { return }
        for index in (list.count - count)..<list.count {
            guard let bubble = cellData(at: index) as? MXKRoomBubbleCellData, let first = bubble.bubbleComponents.first
            else { return }
            guard !first.event.isLocalEvent, first.event.sentState == .sent, let state = first.roomState else {
                continue
            }
            forget(index, before: first.event.eventId, state)
            return
        }
    }

    /// Forgets the bubbles before an index.
    private func forget(_ count: Int, before eventId: String, _ state: MXRoomState) {
        guard count > 0 else { return }
        if let last = cellData(at: count - 1), let next = cellData(at: count), last.nextCollapsableCellData === next {
            leaveSeries(last)
        }
        for case let bubble as any MXKRoomBubbleCellDataStoring in list.removeFirst(count) {
            for event in bubble.events {
                bubbleOf[event.eventId] = nil
                hidden.forget(after: event.eventId)
            }
        }
        hidden.forgetOldest()
        if let marker = readMarkerEventId, bubbleOf[marker] == nil { readMarkerEventId = nil }
        placeReceipts()
        refreshFlags(around: 0)
        timeline?.resumePagination(before: eventId, state: state)
        report()
    }
}
