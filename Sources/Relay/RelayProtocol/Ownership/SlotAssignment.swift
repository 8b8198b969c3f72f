import Basics

/// The weights of relays for slots, computed once.
struct SlotAssignment: Sendable {
    private var weights: [Substring: [Slot: UInt64]] = [:]

    private mutating func weight(_ relay: RelayID, _ slot: Slot) -> UInt64 {
        if let known = weights[relay.name]?[slot] { return known }
        if weights.count >= OwnershipMachine.maximumRelays { weights = [:] }
        let weight = RendezvousHash.weight(relay.name, "\(slot)")
        weights[relay.name, default: [:]][slot] = weight
        return weight
    }

    /// Returns the relay with the highest weight; among equals, the first one.
    mutating func heaviest(of relays: some Sequence<RelayID>, for slot: Slot) -> RelayID? {
        var best: (relay: RelayID, weight: UInt64)?
        for relay in relays {
            let weight = weight(relay, slot)
            guard let known = best else {
                best = (relay, weight)
                continue
            }
            if weight > known.weight || weight == known.weight && relay < known.relay { best = (relay, weight) }
        }
        return best?.relay
    }

    /// Returns the slot for which a relay has the highest weight.
    mutating func favourite(of slots: some Sequence<Slot>, for relay: RelayID) -> Slot? {
        var best: (slot: Slot, weight: UInt64)?
        for slot in slots {
            let weight = weight(relay, slot)
            if best.map({ weight > $0.weight || weight == $0.weight && slot < $0.slot }) ?? true {
                best = (slot, weight)
            }
        }
        return best?.slot
    }
}
