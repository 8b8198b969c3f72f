import RelayProtocol

/// The bucket that relays share, and the stream that they write to.
struct RelayBucket {
    private(set) var revision: UInt64 = 0
    private(set) var heartbeats: [RelayID: (heartbeat: Heartbeat, revision: UInt64)] = [:]
    /// The records of each slot, the newest last.
    private var records: [Slot: [(record: SlotRecord, revision: UInt64, messageID: String)]] = [:]
    private var messageIDs: Set<String> = []
    private var fenceIDs: Set<String> = []
    /// The last fence of each slot, and the highest term.
    private var fences: [Slot: (last: SlotFence, highest: Int)] = [:]

    /// - Parameter fences: Those of a stream that is older than the bucket.
    init(fences: [Slot: Int]) {
        self.fences = fences.mapValues { (SlotFence(term: $0, relay: nil, sequence: 1), $0) }
    }

    var slots: [Slot: (record: SlotRecord, revision: UInt64)] {
        records.compactMapValues { $0.last.map { ($0.record, $0.revision) } }
    }

    mutating func put(_ heartbeat: Heartbeat, of relay: RelayID) {
        revision += 1
        heartbeats[relay] = (heartbeat, revision)
    }

    mutating func write(_ write: SlotWrite) -> SlotWriteOutcome {
        guard !messageIDs.contains(write.messageID) else { return .unknown }
        guard records[write.slot]?.last?.revision ?? 0 == write.revision else { return .refused }
        messageIDs.insert(write.messageID)
        revision += 1
        records[write.slot, default: []].append((write.record, revision, write.messageID))
        return .stored(revision: revision)
    }

    /// Loses what it has acknowledged last, as servers of 2.9.10 can when two of three are killed.
    mutating func forgetNewest(_ slot: Slot) {
        guard let newest = records[slot]?.popLast() else { return }
        if newest.revision == revision { revision -= 1 }  // which is given again
        messageIDs.remove(newest.messageID)
    }

    /// Loses everything, as when somebody purges it.
    ///
    /// - Returns: The ids of what is gone. Servers know them until ``expire(_:)``.
    mutating func purge() -> Set<String> {
        (records, heartbeats) = ([:], [:])
        return messageIDs
    }

    mutating func expire(_ ids: Set<String>) { messageIDs.subtract(ids) }

    // MARK: The stream

    mutating func fence(_ slot: Slot, term: Int, of relay: RelayID, over sequence: UInt64) -> FenceOutcome {
        let id = MessageID.fence(prefix: "ev", slot: slot, term: term)
        guard !fenceIDs.contains(id) else { return .known }
        let last = fences[slot]?.last.sequence ?? 0
        guard last == sequence else { return .refused }
        fenceIDs.insert(id)
        let fence = SlotFence(term: term, relay: relay, sequence: last + 1)
        fences[slot] = (fence, max(fences[slot]?.highest ?? 0, term))
        return .stored
    }

    func lastFence(_ slot: Slot) -> SlotFence? { fences[slot]?.last }

    /// Whether a message of a term comes after the fence of a newer one.
    func isLate(_ slot: Slot, term: Int) -> Bool { term < fences[slot]?.highest ?? 0 }
}
