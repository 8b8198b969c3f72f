import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// Threads, each shown in place of its room.
extension MXKRoomViewController {
    /// Shows the thread of the selected message; without a selection, an unread thread or else the newest.
    public func displayThread() {
        guard let source = roomDataSource, source.threadId == nil else { return }
        guard let root = threadRoot(in: source) else {
            return show("There is no thread. Choose a message to begin one: Alt-↑.")
        }
        displayThread(rootId: root)
    }

    private func threadRoot(in source: MXKRoomDataSource) -> String? {
        if let selectedEventId {
            guard let event = source.event(withEventId: selectedEventId) else { return nil }
            if let root = event.threadId { return root }
            return canBeginThread(event, source) ? event.eventId : nil
        }
        let unread = source.room?.summary.unreadThreads.keys.first { source.event(withEventId: $0) != nil }
        if let unread { return unread }
        for index in stride(from: source.numberOfCells - 1, through: 0, by: -1) {
            guard let bubble = source.cellData(at: index) as? MXKRoomBubbleCellData else { continue }
            if let event = bubble.events.last(where: { bubble.threads[$0.eventId] != nil }) { return event.eventId }
        }
        return nil
    }

    /// Returns false for an event that relates to another: homeservers refuse a thread there.
    private func canBeginThread(_ event: MXEvent, _ source: MXKRoomDataSource) -> Bool {
        source.canReplyToEvent(withId: event.eventId) && event.relatesTo?.relationType == nil
    }

    /// Shows a thread in place of its room until ``leaveThread()``.
    public func displayThread(rootId: String) {
        guard let source = roomDataSource, let session = source.mxSession else { return }
        let behind = (source: source, isOwned: hasRoomDataSourceOwnership)
        hasRoomDataSourceOwnership = false
        let thread = MXKRoomDataSource(roomId: source.roomId, threadId: rootId, andMatrixSession: session)
        thread.eventFormatter = source.eventFormatter
        thread.partialTextMessage = Self.threadKey(thread).flatMap { unsentThreadTexts[$0] }
        displayRoom(thread)
        hasRoomDataSourceOwnership = true
        behindThread = behind
    }

    /// Shows the room again, at the message that started the thread.
    public func leaveThread() {
        guard let rootId = roomDataSource?.threadId, let behind = behindThread else { return }
        displayRoom(behind.source)
        hasRoomDataSourceOwnership = behind.isOwned
        if behind.source.indexOfCellData(withEventId: rootId) != NSNotFound { go(to: rootId) }
    }

    /// Returns the key of a thread's draft; `nil` for a room.
    static func threadKey(_ source: MXKRoomDataSource) -> String? {
        source.threadId.map { "\(source.mxSession?.ownUserId ?? "") \(source.roomId) \($0)" }
    }

    func forgetWhatIsBehind(but source: MXKRoomDataSource?) {
        if let behind = behindThread, behind.isOwned, behind.source !== source { behind.source.destroy() }
        behindThread = nil
    }
}
