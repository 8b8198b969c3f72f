import Basics

/// Looking for lost records and fences of held slots, and for unreported records of other slots.
extension OwnershipMachine {
    /// The number of held slots to query at once, and of others.
    private static let maximumAudits = 4

    /// Queries the leader for some records and fences of held slots, in turn. If the leader has lost them, the next
    /// owner won't know the term, and readers would forever drop what we write below another relay's term. For other
    /// slots, queries the records: one that reappears when another server leads is not reported to anyone, and may name
    /// us as the owner.
    mutating func audit() {
        // Before the first taking, everything is being read anyway.
        guard firstTaking != nil, audits.asked.isEmpty, audits.askedFences.isEmpty else { return }
        var (own, others) = ([Slot](), [Slot]())
        for slot in configuration.slots {
            switch holdings[slot] {
            case .held: own.append(slot)
            case nil where freeSince[slot] == nil: others.append(slot)
            case nil, .taking, .fencing, .draining, .releasing: continue  // moving from one relay to another
            }
        }
        for slot in Self.turn(of: own, after: audits.last.own) {
            audits.last.own = slot
            audits.askedFences.insert(slot)
            order(.readFence(slot))
            ask(slot)
        }
        for slot in Self.turn(of: others, after: audits.last.other) {
            audits.last.other = slot
            ask(slot)
        }
    }

    private mutating func ask(_ slot: Slot) {
        audits.asked.insert(slot)
        order(.readSlot(slot))
    }

    private static func turn(of slots: [Slot], after last: Slot?) -> ArraySlice<Slot> {
        let slots = slots.sorted()
        let later = last.map { last in slots.filter { $0 > last } } ?? []
        return (later + slots).prefix(min(slots.count, maximumAudits))
    }

    /// Checks who owns the last fence, and then writes our record again: see ``fenceRead(_:_:now:)``. Queries the
    /// record twice, because a leader may be behind when it starts.
    ///
    /// - Parameter record: The leader's record in place of ours.
    mutating func restoreIfForgotten(_ slot: Slot, _ record: SlotRecord?, _ now: MonotonicInstant) {
        guard case .held(let term) = holdings[slot] else { return }
        let isThere = record.map { isOurs($0) && $0.term == term } ?? false
        guard !isThere else { return audits.forget(slot) }
        audits.replacements[slot] = record
        guard !audits.missed.insert(slot).inserted else { return rereads[slot] = now + Self.readPause }
        if audits.lost.insert(slot).inserted { order(.report(.forgotten(slot))) }
        order(.readFence(slot))
    }

    // MARK: Owner of the last fence

    /// Checks whether the last fence of a held slot is still ours. A stream keeps messages only for a limited time. If
    /// there is no fence or an older one, ours is written again, since it shows others the term when the bucket has
    /// lost our record. A fence of a higher term belongs to a relay whose record is lost, too; since then, readers drop
    /// what is sent here. Another relay's fence of the same term means that the stream has lost ours and that two
    /// relays have sent in one term.
    mutating func compare(_ slot: Slot, _ term: Int, _ fence: SlotFence?) {
        guard let fence, fence.term >= term else {
            return order(.fence(slot, term: term, over: fence?.sequence ?? 0))
        }
        let isOurs = fence.term == term && fence.relay == configuration.relay
        if isOurs { restore(slot) } else { giveUp(slot, term, to: fence.relay) }
    }

    /// Writes our record again, which the bucket has lost. The stream confirms that the term is ours, or has dropped
    /// its fence so recently that it still accepts no other one. Of two relays that write theirs again, the one with
    /// the lower term sees the other's.
    mutating func restore(_ slot: Slot) {
        guard audits.lost.contains(slot), let own = records[slot] else { return }
        order(.write(ownWrite(slot, own.record, over: own.revision)))
    }

    /// - Parameter relay: The owner of the last fence; nil if an older version wrote it.
    private mutating func giveUp(_ slot: Slot, _ term: Int, to relay: RelayID?) {
        guard let revision = records[slot]?.revision else { return }
        if let record = audits.replacements[slot], let owner = record.owner, owner == relay, record.term == term {
            believe(slot, record, revision)
            return lose(slot, to: owner)
        }
        if move?.slot == slot { move = nil }
        order(.drop(slot))
        order(.report(.taken(slot, by: relay)))
        // It is unknown since when readers have dropped what was sent.
        release(slot, term, revision, heir: nil, 0)
    }
}
