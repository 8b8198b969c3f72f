/// What has arrived of one channel at one connection: tells apart what comes in order, late, or again.
struct Arrivals: Sendable {
    enum Arrival: Equatable {
        case inOrder
        /// After one with a higher number.
        case late
        case duplicate
    }

    /// Gaps that are remembered. What arrives late for an older one counts as a duplicate.
    static let maximumGaps = 1024

    /// The number after the highest that has come.
    private var next = 0
    /// What was skipped and has not come since, in ascending order.
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
