import Basics

/// Moving slots to a relay with fewer, one at a time. Their sources start there before they stop here.
extension OwnershipMachine {
    /// Starts to move a slot to a relay that has far fewer and has been alive for a while. A process that keeps failing
    /// gets none.
    mutating func evenOut(_ loads: [RelayID: Int], _ now: MonotonicInstant) {
        guard move == nil, let own = loads[configuration.relay] else { return }
        let settled = loads.filter { relay, _ in
            relays[relay].map { now - $0.first >= configuration.observerWait * 2 } ?? false && refusing[relay] == nil
        }
        guard let (heir, load) = settled.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }), own >= load + 2 else {
            return
        }
        let ours = holdings.compactMap { slot, holding -> Slot? in
            switch holding {
            case .held: slot
            case .fencing: keepsEvents(slot) ? nil : slot
            case .taking, .draining, .releasing: nil
            }
        }
        guard let slot = assignment.favourite(of: ours, for: heir) else { return }
        guard let term = held[slot] else { return }
        guard case .held = holdings[slot] else {
            // There are no events that could be missed.
            move = Move(slot: slot, term: term, heir: heir, step: .givingBack)
            return drain(slot, heir: .chosen(heir))
        }
        move = Move(slot: slot, term: term, heir: heir, step: .announced(until: now + configuration.heirLimit))
        hasNews = true
    }

    /// The announcement of the moving slot in heartbeats.
    package var announced: Heartbeat.Move? {
        guard let move else { return nil }
        switch move.step {
        case .announced, .givingBack: return Heartbeat.Move(slot: move.slot, term: move.term, heir: move.heir)
        case .given: return nil
        }
    }

    mutating func moveOn(_ now: MonotonicInstant) {
        refusing = refusing.filter { $0.value > now }
        guard let move else { return }
        switch move.step {
        case .announced(let until):
            let isReady = isReady(move.heir, for: move.slot, term: move.term)
            guard isReady || until <= now else { return }
            guard loads(now)[move.heir] != nil else { return self.move = nil }
            self.move?.step = .givingBack
            drain(move.slot, heir: isReady ? .ready(move.heir) : .chosen(move.heir))
        case .givingBack: return
        case .given(let until):
            let owner = records[move.slot]?.record.owner
            guard owner != nil || until <= now else { return }
            self.move = nil
            if owner == nil {
                refusing[move.heir] = now + configuration.observerWait * 4
                order(.report(.notTaken(move.slot, by: move.heir)))
            }
        }
    }
}
