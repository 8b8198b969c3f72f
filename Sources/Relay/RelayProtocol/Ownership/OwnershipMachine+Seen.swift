package import Basics

/// Input from the bucket, and its consequences for held slots.
extension OwnershipMachine {
    /// Reports a heartbeat in the bucket. Repeating the same one has no effect.
    package mutating func heartbeatSeen(
        _ relay: RelayID, _ heartbeat: Heartbeat, revision: UInt64, now: MonotonicInstant
    ) {
        advance(now)
        guard relay != configuration.relay else {
            if heartbeat.number > ownBeat?.number ?? 0 { ownBeat = heartbeat }
            return
        }
        if let known = relays[relay] {
            // Any difference is a sign of life. Revisions can decrease when another server leads (seen on 2.9.10), and
            // a late heartbeat can replace a newer one.
            guard revision != known.revision || heartbeat.number != known.number else { return }
            let newest = heartbeat.number > known.heartbeat.number ? heartbeat : known.heartbeat
            relays[relay] = Sighting(
                heartbeat: newest, number: heartbeat.number, revision: revision, time: now, first: known.first,
                leavingSince: newest.isLeaving ? known.leavingSince ?? now : nil, isToldApart: known.isToldApart)
            compareUnits(relay)
        } else if relays.count < Self.maximumRelays {
            relays[relay] = Sighting(
                heartbeat: heartbeat, number: heartbeat.number, revision: revision, time: now, first: now,
                leavingSince: heartbeat.isLeaving ? now : nil)
        }
        isDue = true
    }

    /// Living relays should have the same units: those that only one of them has are lost with it.
    private mutating func compareUnits(_ relay: RelayID) {
        guard let sighting = relays[relay], !sighting.isToldApart else { return }
        let (units, own) = (sighting.heartbeat.units, configuration.units)
        guard !units.isEmpty, !own.isEmpty, units != own else { return }
        relays[relay]?.isToldApart = true
        order(.report(.otherUnits(relay)))
    }

    /// Reports the leader's heartbeat of a relay that was silent.
    package mutating func heartbeatRead(
        _ relay: RelayID, _ heartbeat: Heartbeat?, revision: UInt64, now: MonotonicInstant
    ) {
        if let heartbeat { heartbeatSeen(relay, heartbeat, revision: revision, now: now) }
        advance(now)
        guard relays[relay]?.isBeingRead == true else { return }
        relays[relay]?.isBeingRead = false
        relays[relay]?.isConfirmed = true
        isDue = true
    }

    /// Reports that the leader could not be queried. The query is repeated.
    package mutating func heartbeatReadFailed(_ relay: RelayID, now: MonotonicInstant) {
        advance(now)
        relays[relay]?.isBeingRead = false
    }

    /// Reports the record of a slot, or nil if there is none. Records older than those seen before have no effect.
    ///
    /// - Parameter isOfLeader: Whether the record is the leader's: the next write then overwrites it.
    package mutating func slotSeen(
        _ slot: Slot, record: SlotRecord?, revision: UInt64, isOfLeader: Bool = false, now: MonotonicInstant
    ) {
        advance(now)
        if isOfLeader || !audits.asked.contains(slot) { rereads[slot] = nil }
        unreadable.remove(slot)
        isDue = true
        if isOfLeader {
            records[slot]?.revision = revision
            audits.asked.remove(slot)
        }
        deletions[slot] = record == nil && revision > 0 ? revision : nil
        if record != nil, case .known = fences[slot] { fences[slot] = nil }
        let isRival = record.flatMap { record in records[slot].map { record.isRival(of: $0.record) } } ?? false
        if isRival, !isOfLeader { order(.readSlot(slot)) }
        let isBelieved = isRival && isOfLeader && !hasFence(slot)
        if let record, isBelieved || records[slot].map({ record.follows($0.record) }) ?? true {
            believe(slot, record, revision)
        }
        if let late = lateTakings[slot], lastRevision(of: slot) != late.revision { lateTakings[slot] = nil }
        dropPreparation(slot)
        settle(slot)
        if isOfLeader { restoreIfForgotten(slot, record, now) }
    }

    /// Makes this record the current one.
    mutating func believe(_ slot: Slot, _ record: SlotRecord, _ revision: UInt64) {
        records[slot] = (record, revision)
        if let owner = record.owner, owner != configuration.relay { wroteRecord(owner, lastNow) }
    }

    /// Whether the stream has accepted our fence of the held term. Another relay's record of that term, which appears
    /// when a bucket has lost ours, is then ignored. Otherwise each of the two would forever consider the other one the
    /// owner.
    private func hasFence(_ slot: Slot) -> Bool {
        switch holdings[slot] {
        case .held(let term), .draining(let term, _): begunTerms[slot] == term
        case .releasing(let write): begunTerms[slot] == write.record.term
        case .taking, .fencing, nil: false
        }
    }

    /// Returns the revision to overwrite when taking a slot; zero if the bucket has none.
    func lastRevision(of slot: Slot) -> UInt64 { records[slot]?.revision ?? deletions[slot] ?? 0 }

    /// - Parameter revision: The revision to overwrite; zero if the bucket has none any more.
    mutating func ownWrite(_ slot: Slot, _ record: SlotRecord, over revision: UInt64) -> SlotWrite {
        guard revision == 0 else { return SlotWrite(slot: slot, record: record, revision: revision) }
        attempts += 1
        return SlotWrite(slot: slot, record: record, revision: 0, attempt: attempts)
    }

    /// Treats a record as a sign of life: its owner may have returned since the leader had nothing newer of it, and its
    /// heartbeats may not arrive here.
    private mutating func wroteRecord(_ owner: RelayID, _ now: MonotonicInstant) {
        if var sighting = relays[owner] {
            (sighting.time, sighting.isConfirmed, sighting.isBeingRead) = (now, false, false)
            relays[owner] = sighting
        } else if relays.count < Self.maximumRelays {
            let unseen = Heartbeat(incarnation: 0, number: 0)
            relays[owner] = Sighting(heartbeat: unseen, number: 0, revision: 0, time: now, first: now)
        }
    }

    /// Reports an invalid record of a slot. It may be of a newer version, and is left alone.
    package mutating func slotUnreadable(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        rereads[slot] = nil
        audits.asked.remove(slot)
        lateTakings[slot] = nil
        if unreadable.insert(slot).inserted { order(.report(.unreadable(slot))) }
        switch holdings[slot] {
        case .taking: holdings[slot] = nil
        case .releasing: released(slot)
        case .fencing, .held, .draining, nil: break
        }
        finishIfEmpty()
    }

    // MARK: Held slots

    /// Reports that the leader could not be queried. The query is repeated a little later.
    package mutating func readFailed(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        guard holdings[slot] == nil else { return rereads[slot] = now + Self.readPause }
        audits.asked.remove(slot)
        isDue = true
    }

    /// Reports that everything in the bucket was seen once.
    package mutating func readCompleted(now: MonotonicInstant) {
        advance(now)
        if firstTaking == nil { firstTaking = now + configuration.startPause }
        isDue = true
    }

    /// Applies the newest record to a held slot.
    mutating func settle(_ slot: Slot) {
        let newest = records[slot]
        let isOurs = newest.map { self.isOurs($0.record) } ?? false
        switch holdings[slot] {
        case nil:
            // A write that seemed to have failed was stored after all: the term belongs to no one else.
            if isOurs, let newest { hold(slot, newest.record.term, after: .settled(nil)) }
        case .taking(let write, let predecessor):
            if newest?.record == write.record {
                hold(slot, write.record.term, after: predecessor)
            } else if isOurs, let newest {
                // An earlier write, which seemed to have failed.
                hold(slot, newest.record.term, after: .settled(nil))
            } else {
                holdings[slot] = nil
                mayArriveLate(write, predecessor)
                finishIfEmpty()
            }
        case .fencing(let term, _, _), .held(let term), .draining(let term, _):
            if !isOurs || newest?.record.term != term { lose(slot, to: newest?.record.owner) }
        case .releasing(let write):
            if isOurs, let newest {
                // The write was not stored.
                let again = ownWrite(slot, write.record, over: newest.revision)
                holdings[slot] = .releasing(again)
                order(.write(again))
            } else {
                released(slot)
            }
        }
    }

    func isOurs(_ record: SlotRecord) -> Bool {
        record.owner == configuration.relay && record.incarnation == incarnation
    }

    mutating func hold(_ slot: Slot, _ term: Int, after predecessor: Predecessor) {
        holdings[slot] = .fencing(term: term, after: predecessor, .reading(isKnown: false))
        (freeSince[slot], preparations[slot]) = (nil, nil)
        // It would restart the numbering of its messages, and the stream would treat them as repeated.
        guard begunTerms[slot] ?? 0 < term else { return drain(slot, heir: nil) }
        order(.readFence(slot))
    }

    /// Records a taking that is not stored or has an unknown result. It may still arrive while the record is unchanged.
    mutating func mayArriveLate(_ write: SlotWrite, _ predecessor: Predecessor) {
        guard lastRevision(of: write.slot) == write.revision, let limit = predecessor.limit else { return }
        lateTakings[write.slot] = (write.revision, min(limit, lateTakings[write.slot]?.limit ?? limit))
    }

    mutating func lose(_ slot: Slot, to owner: RelayID?) {
        holdings[slot] = nil
        audits.forget(slot)
        if move?.slot == slot { move = nil }
        order(.drop(slot))
        order(.report(.taken(slot, by: owner)))
        finishIfEmpty()
    }

    // MARK: Results of writes

    package mutating func heartbeatStored(_ heartbeat: Heartbeat, now: MonotonicInstant) {
        if heartbeat.incarnation == incarnation, let sentAt = sentBeats.removeValue(forKey: heartbeat.number) {
            lastBeat = max(lastBeat ?? sentAt, sentAt)
        }
        if let newsBeat, heartbeat.number >= newsBeat { self.newsBeat = nil }
        advance(now)
        isDue = true
    }

    package mutating func writeEnded(_ write: SlotWrite, _ outcome: SlotWriteOutcome, now: MonotonicInstant) {
        advance(now)
        isDue = true
        switch outcome {
        case .stored(let revision):
            slotSeen(write.slot, record: write.record, revision: revision, isOfLeader: true, now: now)
        case .refused, .unknown:
            switch holdings[write.slot] {
            case .taking(write, _) where outcome == .refused: order(.readSlot(write.slot))
            // This may happen repeatedly: after a purge, servers remember the IDs of records for a while.
            case .taking(write, _), .releasing(write): rereads[write.slot] = now + Self.readPause
            case .taking, .releasing, .fencing, .held, .draining, nil: break
            }
        }
    }
}
