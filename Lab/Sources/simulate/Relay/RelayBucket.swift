import RelayProtocol

/// The bucket that relays share, and the stream that they write to.
struct RelayBucket {
    private(set) var revision: UInt64 = 0
    private(set) var heartbeats: [RelayID: (heartbeat: Heartbeat, revision: UInt64)] = [:]
    /// The records of each slot, the newest last.
    private var records: [Slot: [(record: SlotRecord, revision: UInt64, messageID: String)]] = [:]
    private var messageIDs: Set<String> = []
    /// What was lost last of each slot.
    private var lost: [Slot: (record: SlotRecord, revision: UInt64, messageID: String)] = [:]
    private var fenceIDs: Set<String> = []
    /// The last of each slot.
    private var fences: [Slot: SlotFence]
    private var highestTerms: [Slot: Int]
    private var lastSequence: UInt64 = 1
    /// Slots whose fences were too old for the stream, until they are there again.
    private(set) var unfenced: Set<Slot> = []

    /// - Parameter fences: Those of a stream that is older than the bucket.
    init(fences: [Slot: Int]) {
        self.fences = fences.mapValues { SlotFence(term: $0, relay: nil, sequence: 1) }
        highestTerms = fences
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
        lost[slot] = newest
    }

    /// What was lost takes the place of what came after it, as when a server leads that still had it. That one knows no ids of
    /// what it does not have.
    ///
    /// - Returns: Whether there was something.
    mutating func revive(_ slot: Slot) -> Bool {
        guard let old = lost.removeValue(forKey: slot) else { return false }
        var known = records[slot] ?? []
        messageIDs.subtract(known.map(\.messageID))
        let newest = known.last
        known.removeAll { $0.revision >= old.revision }
        known.append(old)
        messageIDs.formUnion(known.map(\.messageID))
        (records[slot], lost[slot]) = (known, newest)
        revision = max(revision, old.revision)
        return true
    }

    /// Loses everything, as when somebody purges it.
    ///
    /// - Returns: The ids of what is gone. Servers know them until ``expire(_:)``.
    mutating func purge() -> Set<String> {
        (records, heartbeats, lost) = ([:], [:], [:])
        return messageIDs
    }

    mutating func expire(_ ids: Set<String>) { messageIDs.subtract(ids) }

    // MARK: The stream

    mutating func fence(_ slot: Slot, term: Int, of relay: RelayID, over sequence: UInt64) -> FenceOutcome {
        let id = MessageID.fence(prefix: "ev", slot: slot, term: term)
        guard !fenceIDs.contains(id) else { return .known }
        guard fences[slot]?.sequence ?? 0 == sequence else { return .refused }
        fenceIDs.insert(id)
        lastSequence += 1
        fences[slot] = SlotFence(term: term, relay: relay, sequence: lastSequence)
        highestTerms[slot] = max(highestTerms[slot] ?? 0, term)
        unfenced.remove(slot)
        return .stored
    }

    func lastFence(_ slot: Slot) -> SlotFence? { fences[slot] }

    /// The stream drops the last fence of a slot, which is too old for it. The record still has its term.
    ///
    /// - Returns: Whether there was such a fence.
    mutating func dropFence(_ slot: Slot) -> Bool {
        guard let fence = fences[slot], let record = records[slot]?.last?.record, record.term >= fence.term else {
            return false
        }
        fences[slot] = nil
        fenceIDs.remove(MessageID.fence(prefix: "ev", slot: slot, term: fence.term))
        unfenced.insert(slot)
        return true
    }

    /// Whether a message of a term comes after the fence of a newer one.
    func isLate(_ slot: Slot, term: Int) -> Bool { term < highestTerms[slot] ?? 0 }
}
