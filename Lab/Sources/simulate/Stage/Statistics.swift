/// Counts of events, which show that schedules reach them.
struct Statistics<Kind: CaseIterable & RawRepresentable<String> & Hashable> {
    private(set) var counts: [Kind: Int] = [:]

    mutating func count(_ kind: Kind) {
        counts[kind, default: 0] += 1
    }

    mutating func add(_ other: Statistics) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}
