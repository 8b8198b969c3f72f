/// The arrivals of one channel at one connection, classified as in order, late or duplicate.
struct Arrivals: Sendable {
    enum Arrival: Equatable {
        case inOrder
        /// After an event with a higher number.
        case late
        case duplicate
    }

    /// The maximum number of remembered gaps. A late event of an older gap counts as a duplicate.
    static let maximumGaps = 1024

    /// The number after the highest that has arrived.
    private var next = 0
    /// The skipped numbers that are still missing, in ascending order.
    private var gaps: [Range<Int>] = []

    mutating func note(_ sequence: Int) -> Arrival {
        guard sequence < next else {
            if sequence > next {
                gaps.append(next..<sequence)
                if gaps.count > Self.maximumGaps { gaps.removeFirst() }
            }
            next = sequence + 1
            return .inOrder
        }
        guard let index = gaps.firstIndex(where: { $0.contains(sequence) }) else { return .duplicate }
        let gap = gaps[index]
        gaps.replaceSubrange(
            index...index,
            with: [gap.lowerBound..<sequence, (sequence + 1)..<gap.upperBound].filter { !$0.isEmpty })
        return .late
    }
}
