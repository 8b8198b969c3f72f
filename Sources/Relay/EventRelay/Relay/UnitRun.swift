import RelayProtocol

/// One run of a unit's source: from its start until it stops. What another run gives does not count.
struct UnitRun: Sendable {
    enum Phase: Sendable {
        /// The unit is another relay's, which leaves.
        case preparing(KeptItems)
        /// It is ours, and its source has not begun. All that came before `settled`, in milliseconds since 1970, is in the
        /// stream.
        case starting(term: Int, settled: Int64)
        case running(term: Int)
    }

    let id: Int
    var phase: Phase
    /// What is in the stream already of what comes again.
    var stored = StoredIDs()

    /// Nil as long as it is not ours.
    var term: Int? {
        switch phase {
        case .preparing: nil
        case .starting(let term, _), .running(let term): term
        }
    }
}

/// What came of a unit before it was ours.
struct KeptItems: Sendable {
    private(set) var items: [RelayItem] = []
    private(set) var byteCount = 0
    /// All that came since then is here, in milliseconds since 1970; nil before the source has begun.
    private(set) var start: Int64?
    /// Whether nothing had to be dropped.
    private(set) var isWhole = true

    mutating func begin(at time: Int64) { start = time }

    /// - Parameter room: Bytes. If there are not enough, all that was kept before is dropped, and this, too.
    mutating func add(_ item: RelayItem, room: Int) {
        guard item.byteCount <= room else {
            (items, byteCount, isWhole) = ([], 0, false)
            if start != nil { start = item.time }
            return
        }
        items.append(item)
        byteCount += item.byteCount
    }

    /// What is to be published when the unit is ours: first the gap, if there is one.
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
            // What came before is in the stream.
            guard let start, (time ?? 0) < start else { return repeats }
            return [gap(time ?? 0, start)] + repeats
        }
    }
}
