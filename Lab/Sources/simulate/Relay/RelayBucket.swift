import RelayProtocol

/// The bucket that relays share, and the stream that they write to.
struct RelayBucket {
    private(set) var revision: UInt64 = 0
    private(set) var heartbeats: [RelayID: (heartbeat: Heartbeat, revision: UInt64)] = [:]
    /// The records of each slot, newest last.
    private var records: [Slot: [(record: SlotRecord, revision: UInt64, messageID: String)]] = [:]
    private var messageIDs: Set<String> = []
    /// The last lost record of each slot.
    private var lost: [Slot: (record: SlotRecord, revision: UInt64, messageID: String)] = [:]
    private var fenceIDs: Set<String> = []
    /// The last fence of each slot.
    private var fences: [Slot: SlotFence]
    private var highestTerms: [Slot: Int]
    private var lastSequence: UInt64 = 1
    /// Slots whose fences were too old for the stream, until there are new ones.
    private(set) var unfenced: Set<Slot> = []

    /// - Parameter fences: The fences of a stream that is older than the bucket.
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

    /// Loses the last acknowledged record, as servers of version 2.9.10 can when two of three are killed.
    mutating func forgetNewest(_ slot: Slot) {
        guard let newest = records[slot]?.popLast() else { return }
        if newest.revision == revision { revision -= 1 }  // will be assigned again
        messageIDs.remove(newest.messageID)
        lost[slot] = newest
    }

    /// Restores a lost record in place of later ones, as when the new leader is a server that still had it. That server
    /// does not know the IDs of records that it lacks.
    ///
    /// - Returns: Whether there was a lost record.
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

    /// Loses all records, as in a purge.
    ///
    /// - Returns: The IDs of the lost records. Servers know them until ``expire(_:)``.
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

    /// Drops a slot's last fence, which is too old for the stream. The record still has its term.
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

    /// Whether a message of a term is later than the fence of a newer term.
    func isLate(_ slot: Slot, term: Int) -> Bool { term < highestTerms[slot] ?? 0 }
}
