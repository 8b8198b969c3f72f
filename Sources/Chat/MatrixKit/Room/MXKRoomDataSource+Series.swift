/// Series of joins and leaves that are collapsed into one line.
extension MXKRoomDataSource {
    /// The minimum length of a collapsed series.
    private static var shortestSeries: Int { 3 }

    /// Joins the bubble at an index to the series of the previous one, or separates them.
    func linkSeries(at index: Int) {
        guard let left = cellData(at: index - 1), let right = cellData(at: index) else { return }
        let belongs = left.collapsable && right.collapsable && left.collapse(with: right)
        guard !belongs || left.nextCollapsableCellData !== right else { return }
        cutSeries(left, left.nextCollapsableCellData)
        cutSeries(right.prevCollapsableCellData, right)
        if belongs { joinSeries(left, right) }
    }

    private func joinSeries(_ left: any MXKRoomBubbleCellDataStoring, _ right: any MXKRoomBubbleCellDataStoring) {
        let wasLong = [left, right].contains { series(of: $0, limit: Self.shortestSeries).count >= Self.shortestSeries }
        left.nextCollapsableCellData = right
        right.prevCollapsableCellData = left
        // A long series that is not collapsed was opened by the reader, and stays open.
        if left.collapsed || right.collapsed {
            // The part that is not collapsed is short.
            for bubble in [left, right] where !bubble.collapsed { collapseNeighbours(of: bubble) }
        } else if !wasLong {
            let series = series(of: left, limit: 2 * Self.shortestSeries)
            if series.count >= Self.shortestSeries { for bubble in series { setCollapsed(bubble, true) } }
        }
        changedSeries.append(left)
    }

    private func collapseNeighbours(of bubble: any MXKRoomBubbleCellDataStoring) {
        setCollapsed(bubble, true)
        var (previous, next) = (bubble.prevCollapsableCellData, bubble.nextCollapsableCellData)
        while let current = previous, !current.collapsed {
            setCollapsed(current, true)
            previous = current.prevCollapsableCellData
        }
        while let current = next, !current.collapsed {
            setCollapsed(current, true)
            next = current.nextCollapsableCellData
        }
    }

    /// Updates the summaries of series, once for all changes since the last report.
    func refreshSummaries() {
        var seen: Set<ObjectIdentifier> = []
        for bubble in changedSeries where list.contains(bubble) {
            var head: (any MXKRoomBubbleCellDataStoring)? = bubble
            while let current = head, seen.insert(ObjectIdentifier(current)).inserted {
                guard let previous = current.prevCollapsableCellData else {
                    current.collapsedAttributedTextMessage = nil
                    (current as? MXKRoomBubbleCellData)?.touch()
                    list.update(current)
                    break
                }
                head = previous
            }
        }
        changedSeries = []
    }

    private func cutSeries(
        _ left: (any MXKRoomBubbleCellDataStoring)?, _ right: (any MXKRoomBubbleCellDataStoring)?
    ) {
        guard let left, let right else { return }
        left.nextCollapsableCellData = nil
        right.prevCollapsableCellData = nil
        for bubble in [left, right] {
            let rest = series(of: bubble, limit: Self.shortestSeries)
            if rest.count < Self.shortestSeries { for bubble in rest { setCollapsed(bubble, false) } }
            changedSeries.append(bubble)
        }
    }

    func setCollapsed(_ bubble: any MXKRoomBubbleCellDataStoring, _ isCollapsed: Bool) {
        guard bubble.collapsed != isCollapsed else { return }
        bubble.collapsed = isCollapsed
        (bubble as? MXKRoomBubbleCellData)?.touch()
        list.update(bubble)
    }

    /// Returns the part of a series around a bubble, up to one more than `limit` bubbles.
    func series(
        of bubble: any MXKRoomBubbleCellDataStoring, limit: Int = .max - 1
    ) -> [any MXKRoomBubbleCellDataStoring] {
        var series = [bubble]
        while series.count <= limit, let previous = series[0].prevCollapsableCellData { series.insert(previous, at: 0) }
        while series.count <= limit, let next = series[series.count - 1].nextCollapsableCellData { series.append(next) }
        return series
    }

    func leaveSeries(_ bubble: any MXKRoomBubbleCellDataStoring) {
        cutSeries(bubble.prevCollapsableCellData, bubble)
        cutSeries(bubble, bubble.nextCollapsableCellData)
    }
}
