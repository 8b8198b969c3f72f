import Basics

/// How far a user has read a room, by all receipts of theirs: each is for a thread, for what is in no thread, or for the
/// whole room up to its event (client-server specification, "Receipts", "Threaded read receipts").
struct OwnReceipts {
    /// What is in no thread.
    private static let main = "main"

    /// What is read up to each event: threads, or nil for all.
    private var threads: [ByteKey: Set<ByteKey?>] = [:]
    private let userId: String

    init(of userId: String, _ receipts: [MXReceipt]) {
        self.userId = userId
        for receipt in receipts where receipt.userId.isExactly(userId) {
            threads[receipt.eventId, default: []].insert(receipt.threadId.map { ByteKey($0) })
        }
    }

    /// What is unread, by thread.
    ///
    /// - Parameters:
    ///   - events: Newest first.
    ///   - isStart: Whether all before an event counts as read: the user has said something there, say.
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

    /// What a count of unread messages has found.
    struct Unread {
        /// By the root of the thread, or `main`.
        fileprivate(set) var counts: [ByteKey: Int] = [:]

        var total: Int { counts.values.reduce(0, +) }

        /// - Parameter thread: Nil: the whole room.
        func count(in thread: String?) -> Int { thread.map { counts[$0] ?? 0 } ?? total }
    }
}

extension OwnReceipts {
    /// How many events are looked through for what was read: older ones count as read.
    static let horizon = 200
}

extension MXRoomSummary {
    /// The server has taken a receipt of our own, up to an event behind which so much is unread. A receipt never makes
    /// anything unread: it may be older than another that came before.
    ///
    /// The server's counts are its own to change: only what is read as a whole is not waited for.
    mutating func read(_ thread: String?, _ unread: OwnReceipts.Unread) {
        localUnreadEventCount = min(localUnreadEventCount, unread.total)
        guard unread.count(in: thread) == 0 else { return }
        let inThreads = unreadThreads.values.reduce((0, 0)) {
            ($0.0 + $1.notificationCount, $0.1 + $1.highlightCount)
        }
        switch thread {
        case nil: (notificationCount, highlightCount, threads) = (0, 0, nil)
        case "main":
            // Not every server counts threads apart.
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
