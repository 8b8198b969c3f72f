import Basics

/// Looking for what the servers have lost of slots in hand, and for what they tell nobody of the others.
extension OwnershipMachine {
    /// Slots in hand that are asked for at once, and as many others.
    private static let maximumAudits = 4

    /// Asks the leader for some records and fences of what is in hand, in turn: it may have lost them, and with them the next owner
    /// its knowledge of the term. Readers would drop what we write below that of another relay, for ever. Of other slots it asks
    /// for records: what comes to light when another server leads is told to nobody, and may name us as the owner.
    mutating func audit() {
        // Before the first taking, everything is being read.
        guard firstTaking != nil, audits.asked.isEmpty, audits.askedFences.isEmpty else { return }
        var (own, others) = ([Slot](), [Slot]())
        for slot in configuration.slots {
            switch holdings[slot] {
            case .held: own.append(slot)
            case nil where freeSince[slot] == nil: others.append(slot)
            case nil, .taking, .fencing, .draining, .releasing: continue  // on their way from one relay to another
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

    /// Looks whose the last fence is, and then writes our record again: see ``fenceRead(_:_:now:)``. The record is asked for twice:
    /// a leader may be behind when it begins.
    ///
    /// - Parameter record: Of the leader, where ours should be.
    mutating func restoreIfForgotten(_ slot: Slot, _ record: SlotRecord?, _ now: MonotonicInstant) {
        guard case .held(let term) = holdings[slot] else { return }
        let isThere = record.map { isOurs($0) && $0.term == term } ?? false
        guard !isThere else { return audits.forget(slot) }
        audits.replacements[slot] = record
        guard !audits.missed.insert(slot).inserted else { return rereads[slot] = now + Self.readPause }
        if audits.lost.insert(slot).inserted { order(.report(.forgotten(slot))) }
        order(.readFence(slot))
    }

    // MARK: Whose the last fence is

    /// Whether the last fence of a slot in hand is still ours. A stream keeps messages for so long only: without any or after an
    /// older one ours is written again, since it tells others the term when the bucket has lost our record. One of a higher term is
    /// of a relay whose record is lost, too, and since then readers drop what is sent here. One of the same term is there if the
    /// stream has lost ours, and then two relays have sent in one term.
    mutating func compare(_ slot: Slot, _ term: Int, _ fence: SlotFence?) {
        guard let fence, fence.term >= term else {
            return order(.fence(slot, term: term, over: fence?.sequence ?? 0))
        }
        let isOurs = fence.term == term && fence.relay == configuration.relay
        if isOurs { restore(slot) } else { giveUp(slot, term, to: fence.relay) }
    }

    /// The bucket has lost our record. The stream says that the term is ours, or has dropped its fence so lately that it still takes
    /// no other one. Of two relays that write theirs again, the one with the lower term sees the other's.
    mutating func restore(_ slot: Slot) {
        guard audits.lost.contains(slot), let own = records[slot] else { return }
        order(.write(ownWrite(slot, own.record, over: own.revision)))
    }

    /// - Parameter relay: Whose the last fence is; nil if an older version wrote it.
    private mutating func giveUp(_ slot: Slot, _ term: Int, to relay: RelayID?) {
        guard let revision = records[slot]?.revision else { return }
        if let record = audits.replacements[slot], let owner = record.owner, owner == relay, record.term == term {
            believe(slot, record, revision)
            return lose(slot, to: owner)
        }
        if move?.slot == slot { move = nil }
        order(.drop(slot))
        order(.report(.taken(slot, by: relay)))
        // Since when readers drop what was sent nobody knows.
        release(slot, term, revision, heir: nil, 0)
    }
}
