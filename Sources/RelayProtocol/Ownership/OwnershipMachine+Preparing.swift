package import Basics

/// Slots of relays that leave: their sources start here before they stop there.
extension OwnershipMachine {
    /// The sources of a slot have begun, and what they give is kept.
    package mutating func prepared(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        guard preparations[slot]?.isReady == false else { return }
        preparations[slot]?.isReady = true
        hasNewsOfPreparations = true
        isDue = true
    }

    /// What heartbeats say: the slots that are ready, with the terms of those that leave.
    var ready: [Slot: Int] { preparations.compactMapValues { $0.isReady ? $0.term : nil } }

    /// - Parameter term: Of the one that leaves.
    func isReady(_ relay: RelayID, for slot: Slot, term: Int) -> Bool {
        guard relay == configuration.relay else { return relays[relay]?.heartbeat.ready[slot] == term }
        return ready[slot] == term
    }

    /// Whether a slot was given back for us only after our sources had begun.
    func wasPrepared(_ slot: Slot, for record: SlotRecord) -> Bool {
        record.heir == .ready(configuration.relay) && isReady(configuration.relay, for: slot, term: record.term)
    }

    /// Prepares what relays that leave have and we are to take, or what whoever is to take it has not prepared in time: it may
    /// not see that they leave.
    ///
    /// - Returns: Whether some have anything.
    mutating func prepareWhatIsLeft(_ loads: inout [RelayID: Int], _ fair: Int, _ now: MonotonicInstant) -> Bool {
        let left = configuration.slots.filter { isBeingLeft($0, now) }
        for slot in left.sorted() where preparations[slot] == nil {
            guard let record = records[slot]?.record,
                let taker = isLateForHeirs(record.owner, now) ? configuration.relay : taker(of: slot, loads, fair)
            else { continue }
            loads[taker, default: 0] += 1
            guard taker == configuration.relay, preparedTerms[slot] ?? 0 < record.term else { continue }
            preparedTerms[slot] = record.term
            preparations[slot] = Preparation(term: record.term)
            order(.prepare(slot))
        }
        return !left.isEmpty
    }

    private func isLateForHeirs(_ owner: RelayID?, _ now: MonotonicInstant) -> Bool {
        guard let since = owner.flatMap({ relays[$0]?.leavingSince }) else { return false }
        return now - since >= configuration.heirLimit
    }

    private func isBeingLeft(_ slot: Slot, _ now: MonotonicInstant) -> Bool {
        guard let record = records[slot]?.record, let owner = record.owner, let sighting = relays[owner] else {
            return false
        }
        return sighting.heartbeat.isLeaving && sighting.heartbeat.incarnation == record.incarnation
            && !isSilent(sighting, now)
    }

    /// Another relay has the slot.
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
