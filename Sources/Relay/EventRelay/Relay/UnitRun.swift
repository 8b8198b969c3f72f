import RelayProtocol

/// One run of a unit's source, from its start until it stops. Events of other runs are ignored.
struct UnitRun: Sendable {
    enum Phase: Sendable {
        /// Another relay, which is leaving, owns the unit.
        case preparing(KeptItems)
        /// The unit is ours, but its source has not started. Everything that arrived before `settled`, in milliseconds
        /// since 1970, is in the stream.
        case starting(term: Int, settled: Int64)
        case running(term: Int)
    }

    let id: Int
    var phase: Phase
    /// The IDs of stored events that arrive again.
    var stored = StoredIDs()

    /// `nil` while the unit is not ours.
    var term: Int? {
        switch phase {
        case .preparing: nil
        case .starting(let term, _), .running(let term): term
        }
    }
}

/// The events of a unit that arrived before it was ours.
struct KeptItems: Sendable {
    private(set) var items: [RelayItem] = []
    private(set) var byteCount = 0
    /// The time since which everything that arrived is here, in milliseconds since 1970; nil before the source has
    /// started.
    private(set) var start: Int64?
    /// Whether nothing had to be discarded.
    private(set) var isWhole = true

    mutating func begin(at time: Int64) { start = time }

    /// - Parameter room: The available bytes. If the item does not fit, it and all items kept before are discarded.
    mutating func add(_ item: RelayItem, room: Int) {
        guard item.byteCount <= room else {
            (items, byteCount, isWhole) = ([], 0, false)
            if start != nil { start = item.time }
            return
        }
        items.append(item)
        byteCount += item.byteCount
    }

    /// Returns the items to publish when the unit is ours, starting with the gap, if there is one.
    func items(after predecessor: OwnershipMachine.Predecessor, _ gap: (_ start: Int64, _ end: Int64) -> RelayItem)
        -> [RelayItem]
    {
        let repeats = items.map { item in
            var item = item
            item.mayBeRepeated = true
            return item
        }
        switch predecessor {
        case .nobody: return repeats
        case .handedOver where isWhole: return repeats
        case .handedOver(let time), .settled(let time):
            // Everything before is in the stream.
            guard let start, (time ?? 0) < start else { return repeats }
            return [gap(time ?? 0, start)] + repeats
        }
    }
}
