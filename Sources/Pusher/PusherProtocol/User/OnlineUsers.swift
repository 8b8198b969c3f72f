import Basics

/// The users on the watchlist who are online, as reported by the server. Limited in bytes, since the server may report
/// any number.
struct OnlineUsers: Sendable {
    /// The maximum bytes of all ids, including 64 bytes of overhead for each. The vendor's limit is 100 users.
    static let maximumBytes = 1 << 20
    private static let overhead = 64

    private(set) var ids: Set<ByteKey> = []
    private var byteCount = 0

    /// Inserts ids. Returns false if some were left out because of the limit.
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
