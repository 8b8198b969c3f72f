package import Basics

/// Giving back all slots or one.
extension OwnershipMachine {
    /// Gives back everything and takes nothing any more. Each slot is kept until another relay is ready for it, but for
    /// ``Configuration/handOverLimit`` at most.
    package mutating func leave(now: MonotonicInstant) {
        advance(now)
        guard !isLeaving else { return }
        leavingSince = now
        if case .announced = move?.step { move = nil }  // all slots are offered now
        // A slot that is being taken starts with the events that were kept for it.
        for slot in preparations.keys.sorted() where holdings[slot] == nil { unprepare(slot) }
        beat(now)
        isDue = true
        finishIfEmpty()
    }

    /// Gives back slots for which another relay is ready, or for which none will be.
    mutating func handOver() {
        guard let leavingSince else { return }
        let others = loads(lastNow).keys.filter { $0 != configuration.relay }
        let isOver = lastNow - leavingSince >= configuration.handOverLimit
        for (slot, term) in held.sorted(by: { $0.key < $1.key }) where isOver || !keepsEvents(slot) {
            let heir = assignment.heaviest(of: others.filter { isReady($0, for: slot, term: term) }, for: slot)
            if heir != nil || isOver || others.isEmpty { drain(slot, heir: heir.map { .ready($0) }) }
        }
    }

    /// The prepared events of the slot are the only ones from that time. They are published once the fence is stored.
    func keepsEvents(_ slot: Slot) -> Bool {
        if case .fencing(_, .handedOver, _) = holdings[slot] { true } else { false }
    }

    /// Reports that everything sent for a slot is acknowledged and nothing more is sent.
    ///
    /// - Parameters:
    ///   - settled: The time at which its sources had stopped, in milliseconds since 1970.
    ///   - isWhole: Whether everything sent until then had arrived. If not, a relay that is already listening has
    ///     missed something all the same.
    package mutating func drained(_ slot: Slot, settled: Int64? = nil, isWhole: Bool = true, now: MonotonicInstant) {
        advance(now)
        guard case .draining(let term, let heir) = holdings[slot], let revision = records[slot]?.revision else {
            return
        }
        release(slot, term, revision, heir: isWhole ? heir : heir.map { .chosen($0.relay) }, settled)
    }

    mutating func drain(_ slot: Slot, heir: SlotRecord.Heir?) {
        switch holdings[slot] {
        case .held(let term):
            holdings[slot] = .draining(term: term, heir: heir)
            order(.drain(slot))
        case .fencing(let term, let predecessor, _):
            guard let revision = records[slot]?.revision else { return }
            // There were no listeners since the predecessor stopped, or their events are discarded.
            order(.drop(slot))
            release(slot, term, revision, heir: heir.map { .chosen($0.relay) }, predecessor.limit)
        case .taking, .draining, .releasing, nil: return
        }
    }

    mutating func release(
        _ slot: Slot, _ term: Int, _ revision: UInt64, heir: SlotRecord.Heir?, _ settled: Int64?
    ) {
        let record = SlotRecord(owner: nil, incarnation: incarnation, term: term, heir: heir, settled: settled)
        let write = ownWrite(slot, record, over: revision)
        holdings[slot] = .releasing(write)
        order(.write(write))
    }

    mutating func released(_ slot: Slot) {
        holdings[slot] = nil
        audits.forget(slot)
        if move?.slot == slot { move?.step = .given(until: lastNow + configuration.observerWait) }
        finishIfEmpty()
    }

    mutating func finishIfEmpty() {
        guard isLeaving, !isFinished, holdings.isEmpty else { return }
        isFinished = true
        order(.finished)
    }
}
