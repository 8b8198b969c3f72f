import MatrixProtocol
import MatrixSDK

/// Limits the memory used by an open room.
extension MXKRoomDataSource {
    /// Forgets the oldest bubbles of a live room; paging backwards loads them again.
    ///
    /// Use this method while the newest bubbles are shown. It does nothing while a page is loading, or if the cells are
    /// not ``MXKRoomBubbleCellData``, because the room's state before them is unknown.
    ///
    /// - Parameter count: The approximate number of bubbles to keep.
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
