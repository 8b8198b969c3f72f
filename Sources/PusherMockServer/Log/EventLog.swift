/// The newest log entries, and the sequences that follow them. Confined to the server's event loop.
struct EventLog {
    typealias Entry = PusherMockServer.LogEntry

    private let limit: Int
    /// Up to twice `limit`, so that forgetting costs little for each entry.
    private var entries: [Entry] = []
    private var followers: [Int: AsyncStream<Entry>.Continuation] = [:]
    private var followerCount = 0

    init(limit: Int) {
        self.limit = max(0, limit)
    }

    var newest: ArraySlice<Entry> { entries.suffix(limit) }

    mutating func append(_ entry: Entry) {
        for follower in followers.values { follower.yield(entry) }
        guard limit > 0 else { return }
        entries.append(entry)
        if entries.count >= 2 * limit { entries.removeFirst(entries.count - limit) }
    }

    /// Replays what is kept, then goes on. The id ends it with ``remove(follower:)``.
    mutating func add(follower: AsyncStream<Entry>.Continuation) -> Int {
        for entry in newest { follower.yield(entry) }
        followerCount += 1
        followers[followerCount] = follower
        return followerCount
    }

    mutating func remove(follower id: Int) {
        followers[id] = nil
    }

    mutating func finish() {
        for follower in followers.values { follower.finish() }
        followers.removeAll()
    }
}
