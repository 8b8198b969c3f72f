/// The unread counts of a thread, from the server.
public struct MXUnreadThread: Sendable, Hashable, Codable {
    /// The number of unread notifications.
    public let notificationCount: Int
    /// The number of unread highlights.
    public let highlightCount: Int

    /// Creates the counts; all zero by default.
    public init(notificationCount: Int = 0, highlightCount: Int = 0) {
        (self.notificationCount, self.highlightCount) = (notificationCount, highlightCount)
    }
}

extension MXRoomSummary {
    /// Applies the counts of a sync. Missing counts have not changed.
    mutating func takeUnread(_ section: SyncResponse.Room) {
        // They are sent together. Without thread counts, no thread is unread, or the server does not separate them.
        guard section.unread != nil || section.unreadThreads != nil else { return }
        let (oldNotifications, oldHighlights) = inThreads
        threads = section.unreadThreads.flatMap { $0.isEmpty ? nil : $0 }
        let (notifications, highlights) = inThreads
        notificationCount =
            (section.unread?.notificationCount ?? max(notificationCount - oldNotifications, 0)) + notifications
        highlightCount = (section.unread?.highlightCount ?? max(highlightCount - oldHighlights, 0)) + highlights
    }

    private var inThreads: (notifications: Int, highlights: Int) {
        unreadThreads.values.reduce((0, 0)) { ($0.0 + $1.notificationCount, $0.1 + $1.highlightCount) }
    }
}
