package import Basics

/// Preparing slots of relays that leave or move them. Their sources start here before they stop there.
extension OwnershipMachine {
    /// Reports that the sources of a slot have started and that their events are kept.
    package mutating func prepared(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        guard preparations[slot]?.isReady == false else { return }
        preparations[slot]?.isReady = true
        hasNews = true
        isDue = true
    }

    /// The slots reported as ready in heartbeats, with the terms of the leaving owners.
    var ready: [Slot: Int] { preparations.compactMapValues { $0.isReady ? $0.term : nil } }

    /// - Parameter term: The term of the leaving owner.
    func isReady(_ relay: RelayID, for slot: Slot, term: Int) -> Bool {
        guard relay == configuration.relay else { return relays[relay]?.heartbeat.ready[slot] == term }
        return ready[slot] == term
    }

    /// Whether a slot was given back for us only after our sources had started.
    func wasPrepared(_ slot: Slot, for record: SlotRecord) -> Bool {
        record.heir == .ready(configuration.relay) && isReady(configuration.relay, for: slot, term: record.term)
    }

    /// Prepares slots of leaving relays that are ours to take. Also prepares those that the designated relay has not
    /// prepared in time, since it may not see that their owner is leaving, and those that are moved here.
    ///
    /// - Returns: Whether leaving relays have any slots.
    mutating func prepareWhatIsLeft(_ loads: inout [RelayID: Int], _ fair: Int, _ now: MonotonicInstant) -> Bool {
        for slot in preparations.keys.sorted() where isWithdrawn(slot, now) { unprepare(slot) }
        let moved = relays.values.compactMap(\.heartbeat.move?.slot).filter { configuration.slots.contains($0) }
        for slot in moved.sorted() where isMovedHere(slot, now) { prepare(slot) }
        guard relays.values.contains(where: \.heartbeat.isLeaving) else { return false }
        let left = configuration.slots.filter { isBeingLeft($0, now) }
        for slot in left.sorted() where preparations[slot] == nil {
            guard let record = records[slot]?.record,
                let taker = isLateForHeirs(record.owner, now) ? configuration.relay : taker(of: slot, loads, fair)
            else { continue }
            loads[taker, default: 0] += 1
            if taker == configuration.relay { prepare(slot) }
        }
        return !left.isEmpty
    }

    private mutating func prepare(_ slot: Slot) {
        guard let term = records[slot]?.record.term, preparations[slot] == nil, preparedTerms[slot] ?? 0 < term else {
            return
        }
        preparedTerms[slot] = term
        preparations[slot] = Preparation(term: term)
        order(.prepare(slot))
    }

    private func isLateForHeirs(_ owner: RelayID?, _ now: MonotonicInstant) -> Bool {
        guard let since = owner.flatMap({ relays[$0]?.leavingSince }) else { return false }
        return now - since >= configuration.heirLimit
    }

    private func isBeingLeft(_ slot: Slot, _ now: MonotonicInstant) -> Bool {
        heartbeatOfOwner(slot, now)?.isLeaving ?? false
    }

    private func isMovedHere(_ slot: Slot, _ now: MonotonicInstant) -> Bool {
        nextOwner(slot, now) == configuration.relay
    }

    /// Returns the relay to which the owner is about to give the slot.
    func nextOwner(_ slot: Slot, _ now: MonotonicInstant) -> RelayID? {
        guard let move = heartbeatOfOwner(slot, now)?.move, move.slot == slot, move.term == records[slot]?.record.term
        else { return nil }
        return move.heir
    }

    /// Whether the owner keeps the slot after all.
    private func isWithdrawn(_ slot: Slot, _ now: MonotonicInstant) -> Bool {
        guard let record = records[slot]?.record, record.term == preparations[slot]?.term,
            let heartbeat = heartbeatOfOwner(slot, now)
        else { return false }
        return !heartbeat.isLeaving && !isMovedHere(slot, now)
    }

    /// Returns the newest heartbeat of another, living relay that owns the slot.
    private func heartbeatOfOwner(_ slot: Slot, _ now: MonotonicInstant) -> Heartbeat? {
        guard let record = records[slot]?.record, let owner = record.owner, let sighting = relays[owner],
            sighting.heartbeat.incarnation == record.incarnation, !isSilent(sighting, now)
        else { return nil }
        return sighting.heartbeat
    }

    /// Drops the preparation, because another relay owns the slot.
    mutating func dropPreparation(_ slot: Slot) {
        guard let term = preparations[slot]?.term, let record = records[slot]?.record, record.term > term,
            record.owner != configuration.relay
        else { return }
        unprepare(slot)
    }

    mutating func unprepare(_ slot: Slot) {
        preparations[slot] = nil
        order(.unprepare(slot))
    }
}
