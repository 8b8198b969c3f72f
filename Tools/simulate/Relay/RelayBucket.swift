import RelayProtocol

/// The bucket that relays share, and the stream that they write to.
struct RelayBucket {
    private(set) var revision: UInt64 = 0
    private(set) var heartbeats: [RelayID: (heartbeat: Heartbeat, revision: UInt64)] = [:]
    private(set) var slots: [Slot: (record: SlotRecord, revision: UInt64)] = [:]
    private var messageIDs: Set<String> = []
    /// The highest term whose fence is in the stream.
    private(set) var fences: [Slot: Int] = [:]

    /// - Parameter fences: Those of a stream that is older than the bucket.
    init(fences: [Slot: Int]) { self.fences = fences }

    mutating func put(_ heartbeat: Heartbeat, of relay: RelayID) {
        revision += 1
        heartbeats[relay] = (heartbeat, revision)
    }

    mutating func write(_ write: SlotWrite) -> SlotWriteOutcome {
        guard !messageIDs.contains(write.messageID) else { return .unknown }
        guard slots[write.slot]?.revision ?? 0 == write.revision else { return .refused }
        messageIDs.insert(write.messageID)
        revision += 1
        slots[write.slot] = (write.record, revision)
        return .stored(revision: revision)
    }

    /// - Returns: Whether it comes after the fence of a newer term.
    mutating func append(_ slot: Slot, term: Int, isFence: Bool) -> Bool {
        let newest = fences[slot] ?? 0
        if isFence { fences[slot] = max(newest, term) }
        return term < newest
    }
}
