package import Basics

/// What comes from the bucket, and what follows for slots in hand.
extension OwnershipMachine {
    /// A heartbeat in the bucket. The same one again changes nothing.
    package mutating func heartbeatSeen(
        _ relay: RelayID, _ heartbeat: Heartbeat, revision: UInt64, now: MonotonicInstant
    ) {
        advance(now)
        guard relay != configuration.relay else {
            if heartbeat.number > ownBeat?.number ?? 0 { ownBeat = heartbeat }
            return
        }
        if let known = relays[relay] {
            // Whatever differs is a sign of life: revisions can fall when another server leads (seen on 2.9.10), and a heartbeat
            // that comes late stands in the place of a newer one.
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

    /// A relay that lives should have the same units: what only one of them has is lost with it.
    private mutating func compareUnits(_ relay: RelayID) {
        guard let sighting = relays[relay], !sighting.isToldApart else { return }
        let (units, own) = (sighting.heartbeat.units, configuration.units)
        guard !units.isEmpty, !own.isEmpty, units != own else { return }
        relays[relay]?.isToldApart = true
        order(.report(.otherUnits(relay)))
    }

    /// What the leader has of a relay that has been silent.
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

    /// The leader could not be asked: it is asked again.
    package mutating func heartbeatReadFailed(_ relay: RelayID, now: MonotonicInstant) {
        advance(now)
        relays[relay]?.isBeingRead = false
    }

    /// The record of a slot, as seen or read; nil if there is none. Older ones than those that were seen before change nothing.
    ///
    /// - Parameter isOfLeader: Whether the leader has said so: what is written next is written over that.
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

    /// What counts from now on.
    mutating func believe(_ slot: Slot, _ record: SlotRecord, _ revision: UInt64) {
        records[slot] = (record, revision)
        if let owner = record.owner, owner != configuration.relay { wroteRecord(owner, lastNow) }
    }

    /// Whether the stream has taken our fence of the term in hand. A record of that term from another relay, which a bucket brings
    /// to light that has lost ours, counts for nothing then: each of the two would take the other one for the owner, for ever.
    private func hasFence(_ slot: Slot) -> Bool {
        switch holdings[slot] {
        case .held(let term), .draining(let term, _): begunTerms[slot] == term
        case .releasing(let write): begunTerms[slot] == write.record.term
        case .taking, .fencing, nil: false
        }
    }

    /// Over which a slot is taken; zero if the bucket has nothing of it.
    func lastRevision(of slot: Slot) -> UInt64 { records[slot]?.revision ?? deletions[slot] ?? 0 }

    /// - Parameter revision: Zero if the bucket has nothing any more.
    mutating func ownWrite(_ slot: Slot, _ record: SlotRecord, over revision: UInt64) -> SlotWrite {
        guard revision == 0 else { return SlotWrite(slot: slot, record: record, revision: revision) }
        attempts += 1
        return SlotWrite(slot: slot, record: record, revision: 0, attempt: attempts)
    }

    /// A record is a sign of life: its owner may have come back since the leader knew nothing newer of it, and its heartbeats may
    /// not come here.
    private mutating func wroteRecord(_ owner: RelayID, _ now: MonotonicInstant) {
        if var sighting = relays[owner] {
            (sighting.time, sighting.isConfirmed, sighting.isBeingRead) = (now, false, false)
            relays[owner] = sighting
        } else if relays.count < Self.maximumRelays {
            let unseen = Heartbeat(incarnation: 0, number: 0)
            relays[owner] = Sighting(heartbeat: unseen, number: 0, revision: 0, time: now, first: now)
        }
    }

    /// The record of a slot is none: it may be of a newer version, and is left alone.
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

    // MARK: Slots in hand

    /// The leader could not be asked: it is asked again a little later.
    package mutating func readFailed(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        guard holdings[slot] == nil else { return rereads[slot] = now + Self.readPause }
        audits.asked.remove(slot)
        isDue = true
    }

    /// All that is in the bucket was seen once.
    package mutating func readCompleted(now: MonotonicInstant) {
        advance(now)
        if firstTaking == nil { firstTaking = now + configuration.startPause }
        isDue = true
    }

    /// What the newest record says of a slot in hand.
    mutating func settle(_ slot: Slot) {
        let newest = records[slot]
        let isOurs = newest.map { self.isOurs($0.record) } ?? false
        switch holdings[slot] {
        case nil:
            // A write that was thought to have failed has arrived after all: the term is nobody else's.
            if isOurs, let newest { hold(slot, newest.record.term, after: .settled(nil)) }
        case .taking(let write, let predecessor):
            if newest?.record == write.record {
                hold(slot, write.record.term, after: predecessor)
            } else if isOurs, let newest {
                // An earlier write, which was thought to have failed.
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
                // It has not arrived.
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
        // It would number its messages anew, and the stream takes them for repeated ones.
        guard begunTerms[slot] ?? 0 < term else { return drain(slot, heir: nil) }
        order(.readFence(slot))
    }

    /// Nothing is known of the end of a taking, or that it has not arrived yet: it may, as long as the record is the same.
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

    // MARK: What was written

    /// A heartbeat was acknowledged.
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
            // It may end so again and again: servers know the ids of records that were purged for a while.
            case .taking(write, _), .releasing(write): rereads[write.slot] = now + Self.readPause
            case .taking, .releasing, .fencing, .held, .draining, nil: break
            }
        }
    }
}
