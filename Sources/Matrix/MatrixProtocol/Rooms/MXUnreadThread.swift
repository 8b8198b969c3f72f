/// What a user has not read in a thread, as the server counts.
public struct MXUnreadThread: Sendable, Hashable, Codable {
    /// Messages that notify.
    public let notificationCount: Int
    /// Those of them that name the user.
    public let highlightCount: Int

    /// Nothing is unread without counts.
    public init(notificationCount: Int = 0, highlightCount: Int = 0) {
        (self.notificationCount, self.highlightCount) = (notificationCount, highlightCount)
    }
}

extension MXRoomSummary {
    /// Takes over the counts of a sync; what did not come has not changed.
    mutating func takeUnread(_ section: SyncResponse.Room) {
        // Both come together: without threads nothing is unread in any, or the server does not count them apart.
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
