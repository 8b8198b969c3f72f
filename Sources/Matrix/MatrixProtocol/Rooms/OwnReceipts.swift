import Basics

/// A user's read position in a room, from all their receipts. Each receipt covers a thread, the messages outside
/// threads, or the whole room up to its event (client-server specification, "Receipts", "Threaded read receipts").
struct OwnReceipts {
    /// The name for messages outside threads.
    private static let main = "main"

    /// The threads that are read up to each event; `nil` means all of them.
    private var threads: [ByteKey: Set<ByteKey?>] = [:]
    private let userId: String

    init(of userId: String, _ receipts: [MXReceipt]) {
        self.userId = userId
        for receipt in receipts where receipt.userId.isExactly(userId) {
            threads[receipt.eventId, default: []].insert(receipt.threadId.map { ByteKey($0) })
        }
    }

    /// Counts the unread events by thread.
    ///
    /// - Parameters:
    ///   - events: The events, newest first.
    ///   - isStart: Returns whether everything before an event counts as read, for example because the user wrote it.
    func unread(in events: some Sequence<MXEvent>, ignoring users: Set<ByteKey>, isStart: (MXEvent) -> Bool) -> Unread {
        var unread = Unread()
        var read: Set<ByteKey> = []
        for event in events {
            for thread in threads[event.eventId] ?? [] {
                guard let thread else { return unread }
                read.insert(thread)
            }
            if isStart(event) { return unread }
            if !event.mayRelate, read.contains(Self.main) { continue }
            let thread = event.threadId ?? Self.main
            guard !read.contains(thread), event.countsAsUnread(for: userId), !users.contains(ByteKey(event.sender))
            else {
                continue
            }
            unread.counts[thread, default: 0] += 1
        }
        return unread
    }

    /// The result of counting unread messages.
    struct Unread {
        /// The counts by thread root, or `main`.
        fileprivate(set) var counts: [ByteKey: Int] = [:]

        var total: Int { counts.values.reduce(0, +) }

        /// - Parameter thread: A thread; `nil` counts the whole room.
        func count(in thread: String?) -> Int { thread.map { counts[$0] ?? 0 } ?? total }
    }
}

extension OwnReceipts {
    /// The number of recent events to examine. Older events count as read.
    static let horizon = 200
}

extension MXRoomSummary {
    /// Updates the counts after the server has accepted one of our receipts. A receipt never increases them: it may be
    /// older than an earlier one.
    ///
    /// The server maintains its own counts. They are only reset early for what is completely read.
    mutating func read(_ thread: String?, _ unread: OwnReceipts.Unread) {
        localUnreadEventCount = min(localUnreadEventCount, unread.total)
        guard unread.count(in: thread) == 0 else { return }
        let inThreads = unreadThreads.values.reduce((0, 0)) {
            ($0.0 + $1.notificationCount, $0.1 + $1.highlightCount)
        }
        switch thread {
        case nil: (notificationCount, highlightCount, threads) = (0, 0, nil)
        case "main":
            // Not every server counts threads separately.
            if unread.total == 0 || threads != nil { (notificationCount, highlightCount) = inThreads }
        case let root?:
            guard let old = unreadThreads[root] else { return }
            notificationCount = max(notificationCount - old.notificationCount, 0)
            highlightCount = max(highlightCount - old.highlightCount, 0)
            threads?[root] = nil
            if threads?.isEmpty == true { threads = nil }
        }
    }
}
