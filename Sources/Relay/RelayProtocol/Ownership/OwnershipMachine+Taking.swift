import Basics

/// Free slots, and which relay takes them.
extension OwnershipMachine {
    mutating func takeWhatIsFree(now: MonotonicInstant) {
        guard let firstTaking else { return }
        askForTheSilent(now)
        moveOn(now)
        for slot in configuration.slots {
            if holdings[slot] == nil, isFree(slot, now) {
                if freeSince[slot] == nil { freeSince[slot] = now }
            } else {
                freeSince[slot] = nil
                // The fence may be another one when the slot is free again.
                if case .known = fences[slot] { fences[slot] = nil }
            }
        }
        guard firstTaking <= now, !isLeaving, let lastBeat, now - lastBeat < configuration.holderLimit / 2 else {
            return
        }
        var loads = loads(now)
        let fair = (configuration.slots.count + loads.count - 1) / max(loads.count, 1)
        var writes = holdings.values.count { if case .taking = $0 { true } else { false } }
        writes += fences.values.count { if case .asked = $0 { true } else { false } }
        for (slot, since) in freeSince.sorted(by: { $0.key < $1.key }) where writes < Self.maximumWrites {
            let isOverdue = now - since > configuration.observerWait
            let taker = isOverdue ? configuration.relay : taker(of: slot, loads, fair)
            guard let taker else { continue }
            // A slot prepared here is already counted.
            if taker != configuration.relay || preparations[slot] == nil { loads[taker, default: 0] += 1 }
            guard taker == configuration.relay, !isFenceAwaited(slot, now) else { continue }
            // A pending answer shows an older state, so the taking would count as failed.
            guard !audits.asked.contains(slot) else { continue }
            writes += 1
            take(slot, now)
        }
        let isHandingOver = prepareWhatIsLeft(&loads, fair, now)
        if freeSince.isEmpty, !isHandingOver { evenOut(loads, now) }
    }

    private mutating func take(_ slot: Slot, _ now: MonotonicInstant) {
        guard let fence = lastFence(slot, now) else { return }
        let known = records[slot]
        let term = max(known?.record.term ?? 0, fence)
        guard SlotRecord.terms.contains(term + 1) else {
            fences[slot] = .failed(until: now + configuration.observerWait)
            return order(.report(.termsExhausted(slot)))
        }
        // For a term unknown to the bucket, nothing is known.
        let predecessor = term > known?.record.term ?? 0 ? .settled(nil) : predecessor(of: slot, known?.record)
        var record = SlotRecord(owner: configuration.relay, incarnation: incarnation, term: term + 1)
        switch predecessor {
        case .settled(let time), .handedOver(let time): (record.settled, record.beat) = (time, beatNumber)
        case .nobody: break
        }
        let write = SlotWrite(slot: slot, record: record, revision: lastRevision(of: slot))
        holdings[slot] = .taking(write, after: predecessor)
        (freeSince[slot], fences[slot]) = (nil, nil)
        order(.write(write))
    }

    private func predecessor(of slot: Slot, _ record: SlotRecord?) -> Predecessor {
        guard let record, record.term > 0 else { return .nobody }
        guard let owner = record.owner else {
            return wasPrepared(slot, for: record) ? .handedOver(record.settled) : .settled(record.settled)
        }
        let beat = owner == configuration.relay ? ownBeat : relays[owner]?.heartbeat
        guard let beat, beat.number > record.beat else { return .settled(record.settled) }
        return .settled(beat.settled)
    }

    // MARK: Guarantees for others

    /// The time up to which everything of our present and former slots is in the stream, as far as known here; nil if
    /// there is nothing to consider.
    var limitOfSettled: Int64? {
        let isLost = records.values.contains {
            $0.record.owner == configuration.relay && $0.record.incarnation < incarnation
        }
        let taking = holdings.values.compactMap { predecessor(of: $0)?.limit }
        return ((isLost ? [lostSettled ?? 0] : []) + taking + lateTakings.values.map(\.limit)).min()
    }

    /// Returns the time up to which everything is in the stream, for a slot that doesn't flow here.
    private func predecessor(of holding: Holding) -> Predecessor? {
        switch holding {
        case .taking(_, let predecessor), .fencing(_, let predecessor, _): predecessor
        // Until that is stored, a relay that takes the slot relies on our heartbeats.
        case .releasing(let write): write.record.settled.map { .settled($0) }
        case .held, .draining: nil
        }
    }

    /// Returns what other relays learn about a held slot if they take it now.
    func settled(of slot: Slot) -> Int64? {
        if let predecessor = holdings[slot].flatMap({ predecessor(of: $0) }) { return predecessor.limit }
        return predecessor(of: slot, records[slot]?.record).limit
    }

    /// Whether the slot has no owner, or the owner is dead or has lost it.
    func isFree(_ slot: Slot, _ now: MonotonicInstant) -> Bool {
        guard !unreadable.contains(slot) else { return false }
        guard let record = records[slot]?.record, let owner = record.owner else { return true }
        guard owner != configuration.relay else { return record.incarnation < incarnation }
        guard let sighting = relays[owner] else { return false }  // too many relays to remember this one
        return sighting.heartbeat.incarnation > record.incarnation || isSilent(sighting, now)
    }

    /// Whether a relay has been silent for so long that it has given up by itself, and the leader has nothing newer of
    /// it. The leader is queried because updates may have stopped arriving here.
    func isSilent(_ sighting: Sighting, _ now: MonotonicInstant) -> Bool {
        sighting.isConfirmed && now - sighting.time > wait(for: sighting)
    }

    /// A relay with longer times of its own gives up later.
    func wait(for sighting: Sighting) -> Duration {
        max(configuration.observerWait, sighting.heartbeat.observerWait)
    }

    private mutating func askForTheSilent(_ now: MonotonicInstant) {
        for (relay, sighting) in relays where now - sighting.time > wait(for: sighting) {
            guard !sighting.isConfirmed else {
                // Forget a relay that owns nothing and will write nothing.
                if !records.values.contains(where: { $0.record.owner == relay }) { relays[relay] = nil }
                continue
            }
            guard !sighting.isBeingRead else { continue }
            relays[relay]?.isBeingRead = true
            order(.readHeartbeat(relay))
        }
    }

    // MARK: Sharing

    /// Returns the number of slots of each living relay.
    func loads(_ now: MonotonicInstant) -> [RelayID: Int] {
        var loads = [configuration.relay: 0]
        for (relay, sighting) in relays
        where !sighting.heartbeat.isLeaving && now - sighting.time <= wait(for: sighting) {
            loads[relay] = 0
        }
        for slot in configuration.slots {
            switch holdings[slot] {
            case .taking, .fencing, .held: loads[configuration.relay, default: 0] += 1
            case .draining, .releasing: continue
            case nil where preparations[slot] != nil: loads[configuration.relay, default: 0] += 1
            case nil:
                guard freeSince[slot] == nil, let owner = records[slot]?.record.owner, loads[owner] != nil else {
                    continue
                }
                let next = nextOwner(slot, now).flatMap { loads[$0] != nil ? $0 : nil }
                loads[next ?? owner, default: 0] += 1
            }
        }
        return loads
    }

    /// Returns the relay with the highest weight among those with less than their share.
    mutating func taker(of slot: Slot, _ loads: [RelayID: Int], _ fair: Int) -> RelayID? {
        if let record = records[slot]?.record {
            if let heir = record.heir?.relay, loads[heir] != nil, refusing[heir] == nil { return heir }
            let ready = loads.keys.filter { isReady($0, for: slot, term: record.term) }
            if let taker = assignment.heaviest(of: ready, for: slot) { return taker }
        }
        return assignment.heaviest(of: loads.lazy.filter { $0.value < fair }.map(\.key), for: slot)
    }
}
