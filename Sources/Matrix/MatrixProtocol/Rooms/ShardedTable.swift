/// A dictionary whose copies are cheap to change: only a small part is copied, not all members of a large room. Such
/// copies are common, since a timeline gives its listeners the state before each event.
struct ShardedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var shards: [[Key: Value]] = [[:]]
    private(set) var count = 0

    private static var largestSingle: Int { 256 }
    private static var shardCount: Int { 64 }

    private func shard(of key: Key) -> Int { shards.count == 1 ? 0 : key.hashValue & (Self.shardCount - 1) }

    var all: some Sequence<(key: Key, value: Value)> { shards.lazy.joined() }

    /// Setting `nil` removes the value.
    subscript(key: Key) -> Value? {
        get { shards[shard(of: key)][key] }
        set { update(key, newValue) }
    }

    /// - Returns: The replaced value.
    @discardableResult
    mutating func update(_ key: Key, _ value: Value?) -> Value? {
        let shard = shard(of: key)
        guard let value else {
            let old = shards[shard].removeValue(forKey: key)
            if old != nil { count -= 1 }
            return old
        }
        let old = shards[shard].updateValue(value, forKey: key)
        if old == nil {
            count += 1
            if count > Self.largestSingle, shards.count == 1 { split() }
        }
        return old
    }

    private mutating func split() {
        let all = shards[0]
        shards = Array(repeating: [:], count: Self.shardCount)
        for (key, value) in all { shards[shard(of: key)][key] = value }
    }
}
