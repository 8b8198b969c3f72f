import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// Paging and read receipts.
extension MXKRoomViewController {
    func fill() {
        guard let source = roomDataSource, source.state == .ready, timelineRows > 0, !isPaginating else { return }
        paginate {
            try await source.paginateToFill(rows: self.timelineRows, columns: self.columns, direction: .backwards)
        }
    }

    /// Pages until the user's reading position is found again after a restart of the timeline.
    func findAnchor() {
        guard let source = roomDataSource, source.state == .ready, let anchor = viewport.anchorId, !isPaginating else {
            return
        }
        paginate {
            @MainActor func isFound() -> Bool { source.indexOfCellData(withEventId: anchor) != NSNotFound }
            for _ in 0..<Self.maximumPagesInARow where !isFound() && self.viewport.anchorId == anchor {
                guard source.canPaginate(.backwards) else { break }
                try await source.paginate(self.paginationLimit, direction: .backwards)
            }
            if !isFound(), self.viewport.anchorId == anchor { self.viewport.goToEnd() }
        }
    }

    func paginateIfNeeded() {
        guard let source = roomDataSource, source.state == .ready, !isPaginating, pagingTrouble == nil,
            pagesInARow < Self.maximumPagesInARow, let direction = directionToPaginate(source)
        else { return }
        pagesInARow += 1
        paginate { _ = try await source.paginate(self.paginationLimit, direction: direction) }
    }

    func directionToPaginate(_ source: MXKRoomDataSource) -> MXTimelineDirection? {
        let margin = Int(paginationThreshold)
        if viewport.isNearStart(viewportSource(), rows: timelineRows, margin: margin), source.canPaginate(.backwards) {
            return .backwards
        }
        let isNearEnd = !source.isLive && viewport.isNearEnd(viewportSource(), rows: timelineRows, margin: margin)
        return isNearEnd && source.canPaginate(.forwards) ? .forwards : nil
    }

    func paginate(_ work: @escaping @MainActor () async throws -> Void) {
        isPaginating = true
        let source = roomDataSource
        Task { [weak self] in
            let trouble: String?
            do {
                try await work()
                trouble = nil
            } catch {
                trouble = "\(error)"
            }
            guard let self, self.roomDataSource === source else {
                self?.isPaginating = false
                return
            }
            self.isPaginating = false
            self.pagingTrouble = trouble.map { "Older messages could not be loaded: \($0)" }
            self.setNeedsDisplay()
        }
    }

    func acknowledge() {
        guard isEventsAcknowledgementEnabled, hasTerminalFocus, viewport.isAtEnd, timelineRows > 0,
            let source = roomDataSource, source !== acknowledging, source.isLive, let newest = source.newestEvent,
            newest != lastAcknowledged, !newest.hasPrefix(MXEvent.localEventIdPrefix), let room = source.room,
            room.summary.membership == .join
        else { return }
        lastAcknowledged = newest
        acknowledging = source
        source.resetServerSyncEventCount()
        Task { [weak self] in
            do {
                try await source.acknowledge()
                self?.acknowledged(source)
                self?.acknowledge()  // messages that have arrived meanwhile
            } catch {
                // The next event in the room retries.
                self?.acknowledged(source)
                if self?.lastAcknowledged == newest { self?.lastAcknowledged = nil }
            }
        }
    }

    private func acknowledged(_ source: MXKRoomDataSource) { if acknowledging === source { acknowledging = nil } }
}
