package import Basics

/// What tells readers of the stream that a slot has another owner from there on.
package struct SlotFence: Hashable, Sendable {
    package let term: Int
    /// Nil if an older version wrote it.
    package let relay: RelayID?

    package init(term: Int, relay: RelayID?) { (self.term, self.relay) = (term, relay) }
}

/// What has come of writing a fence.
package enum FenceOutcome: Hashable, Sendable {
    /// Stored, and not as a duplicate: the term is ours.
    case stored
    /// There is one of that term, ours or another relay's.
    case known
    /// Nobody knows whether it is there: it is written again.
    case failed
}

/// The fences in the stream. The stream keeps one of each slot and term, whoever writes it, and so each term has one owner, even
/// if the bucket loses a record that it has acknowledged, and gives its term to another relay.
extension OwnershipMachine {
    // MARK: Before a slot is taken

    /// The term of the last fence of a slot; nil if that is still to be asked for. A term that the bucket does not know is used,
    /// too: of a new bucket beside a stream that was kept, or of one that has lost what it had acknowledged.
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

    /// The last fence of a slot in the stream; nil without any.
    package mutating func fenceRead(_ slot: Slot, _ fence: SlotFence?, now: MonotonicInstant) {
        advance(now)
        isDue = true
        if case .asked = fences[slot] {
            fences[slot] = .known(fence?.term ?? 0)
        } else if case .fencing(let term, let predecessor, nil) = holdings[slot] {
            // If it is not there, though its id is known, somebody has purged the stream: a higher term has another id.
            let isOurs = fence == SlotFence(term: term, relay: configuration.relay)
            if isOurs { begin(slot, term, predecessor) } else { drain(slot, heir: nil) }
        }
    }

    /// The leader could not be asked: it is asked again a little later.
    package mutating func fenceReadFailed(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        if case .asked = fences[slot] { fences[slot] = .failed(until: now + Self.readPause) }
        fenceLater(slot, now)
    }

    // MARK: When it was taken

    package mutating func fenceWritten(_ slot: Slot, term: Int, _ outcome: FenceOutcome, now: MonotonicInstant) {
        advance(now)
        guard case .fencing(term, let predecessor, nil) = holdings[slot] else { return }
        switch outcome {
        case .stored: begin(slot, term, predecessor)
        case .known: order(.readFence(slot))
        case .failed: fenceLater(slot, now)
        }
    }

    private mutating func begin(_ slot: Slot, _ term: Int, _ predecessor: Predecessor) {
        holdings[slot] = .held(term: term)
        isDue = true
        order(.start(slot, term: term, predecessor))
    }

    private mutating func fenceLater(_ slot: Slot, _ now: MonotonicInstant) {
        guard case .fencing(let term, let predecessor, nil) = holdings[slot] else { return }
        holdings[slot] = .fencing(term: term, after: predecessor, retry: now + Self.readPause)
    }

    mutating func fenceAgain(_ now: MonotonicInstant) {
        for (slot, holding) in holdings {
            guard case .fencing(let term, let predecessor, let retry?) = holding, retry <= now else { continue }
            holdings[slot] = .fencing(term: term, after: predecessor, retry: nil)
            order(.fence(slot, term: term))
        }
    }
}
