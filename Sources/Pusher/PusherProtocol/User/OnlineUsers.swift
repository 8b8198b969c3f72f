import Basics

/// Users on the watchlist who are online, as far as the server has told; bounded in bytes, since it may tell of any number.
struct OnlineUsers: Sendable {
    /// Bytes of all ids, with 64 for each of them for the set that keeps it. The vendor's limit is 100 users.
    static let maximumBytes = 1 << 20
    private static let overhead = 64

    private(set) var ids: Set<ByteKey> = []
    private var byteCount = 0

    /// False if some of them were left out because of the bound.
    mutating func insert(_ newIDs: [String]) -> Bool {
        for id in newIDs.map({ ByteKey($0) }) where !ids.contains(id) {
            let cost = id.bytes.count + Self.overhead
            guard byteCount + cost <= Self.maximumBytes else { return false }
            byteCount += cost
            ids.insert(id)
        }
        return true
    }

    mutating func remove(_ oldIDs: [String]) {
        for id in oldIDs where ids.remove(ByteKey(id)) != nil { byteCount -= id.utf8.count + Self.overhead }
    }
}
