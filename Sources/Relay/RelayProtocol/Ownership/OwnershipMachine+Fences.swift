package import Basics

/// A message that shows readers of the stream that a slot has another owner from there on.
package struct SlotFence: Hashable, Sendable {
    package let term: Int
    /// Nil if an older version wrote it.
    package let relay: RelayID?
    /// The sequence number in the stream.
    package let sequence: UInt64

    package init(term: Int, relay: RelayID?, sequence: UInt64) {
        (self.term, self.relay, self.sequence) = (term, relay, sequence)
    }
}

package enum FenceOutcome: Hashable, Sendable {
    /// Stored, and not as a duplicate: the term is ours.
    case stored
    /// The stream already has a fence of that term, ours or another relay's.
    case known
    /// Another fence came after the one to overwrite, and must be read first.
    case refused
    /// The fence may or may not be stored, and is written again.
    case failed
}

/// The fences in the stream, each written over the last one. The stream keeps one for each slot and term, no matter
/// which relay writes it. Each term thus has one owner, even if the bucket loses a record that it has acknowledged and
/// gives its term to another relay. This holds while the stream keeps the fences; dropped ones are written again.
extension OwnershipMachine {
    // MARK: Before taking a slot

    /// Returns the term of the last fence of a slot, or nil if it must still be queried. A term that the bucket does
    /// not know counts, too: the bucket may be new beside an old stream, or may have lost what it had acknowledged.
    mutating func lastFence(_ slot: Slot, _ now: MonotonicInstant) -> Int? {
        if case .known(let term) = fences[slot] { return term }
        guard !isFenceAwaited(slot, now) else { return nil }
        fences[slot] = .asked
        order(.readFence(slot))
        return nil
    }

    func isFenceAwaited(_ slot: Slot, _ now: MonotonicInstant) -> Bool {
        switch fences[slot] {
        case .asked: true
        case .failed(let until): until > now
        case .known, nil: false
        }
    }

    /// Reports the last fence of a slot in the stream, or nil if there is none.
    package mutating func fenceRead(_ slot: Slot, _ fence: SlotFence?, now: MonotonicInstant) {
        advance(now)
        audits.askedFences.remove(slot)
        isDue = true
        if case .asked = fences[slot] {
            fences[slot] = .known(fence?.term ?? 0)
            return
        }
        switch holdings[slot] {
        case .held(let term): compare(slot, term, fence)
        case .fencing(let term, let predecessor, .reading(let isKnown)):
            if fence?.term == term, fence?.relay == configuration.relay {
                begin(slot, term, predecessor)
            } else if fence?.term ?? 0 < term, !isKnown {
                holdings[slot] = .fencing(term: term, after: predecessor, .writing)
                order(.fence(slot, term: term, over: fence?.sequence ?? 0))
            } else {
                // Also if the stream was purged but still knows the ID: a higher term has another one.
                drain(slot, heir: nil)
            }
        case .fencing, .taking, .draining, .releasing, nil: return
        }
    }

    /// Reports that the leader could not be queried. The query is repeated a little later.
    package mutating func fenceReadFailed(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        audits.askedFences.remove(slot)
        if case .asked = fences[slot] {
            fences[slot] = .failed(until: now + Self.readPause)
        } else if case .fencing(let term, let predecessor, .reading) = holdings[slot] {
            wait(slot, term, predecessor, now)
        }
    }

    // MARK: After taking a slot

    package mutating func fenceWritten(_ slot: Slot, term: Int, _ outcome: FenceOutcome, now: MonotonicInstant) {
        advance(now)
        switch holdings[slot] {
        case .fencing(term, let predecessor, .writing):
            switch outcome {
            case .stored: begin(slot, term, predecessor)
            case .known: read(slot, term, predecessor, isKnown: true)
            case .refused, .failed: wait(slot, term, predecessor, now)
            }
        case .held(term):
            switch outcome {
            case .stored, .known: restore(slot)
            case .refused, .failed: return  // it is queried again
            }
        case .fencing, .held, .taking, .draining, .releasing, nil: return
        }
    }

    private mutating func begin(_ slot: Slot, _ term: Int, _ predecessor: Predecessor) {
        (holdings[slot], begunTerms[slot]) = (.held(term: term), term)
        audits.forget(slot)  // those belong to another term
        isDue = true
        order(.start(slot, term: term, predecessor))
    }

    private mutating func read(_ slot: Slot, _ term: Int, _ predecessor: Predecessor, isKnown: Bool) {
        holdings[slot] = .fencing(term: term, after: predecessor, .reading(isKnown: isKnown))
        order(.readFence(slot))
    }

    private mutating func wait(_ slot: Slot, _ term: Int, _ predecessor: Predecessor, _ now: MonotonicInstant) {
        holdings[slot] = .fencing(term: term, after: predecessor, .waiting(until: now + Self.readPause))
    }

    mutating func fenceAgain(_ now: MonotonicInstant) {
        for (slot, holding) in holdings {
            guard case .fencing(let term, let predecessor, .waiting(let end)) = holding, end <= now else { continue }
            read(slot, term, predecessor, isKnown: false)
        }
    }
}
