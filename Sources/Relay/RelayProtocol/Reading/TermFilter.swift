/// Tells messages of an owner from those that an earlier one wrote late: a stream is one total order, and what comes in it after
/// a message of a higher term of the same slot does not count.
///
/// A message that stands before the higher term in the stream is legitimate, even if it is delivered after it: positions
/// decide, and not the order of delivery. So a reader that starts in the middle is first told of the last fences.
///
/// A stream that was made anew begins with lower positions and, with a new bucket, with lower terms: what was known is forgotten.
package struct TermFilter: Sendable {
    private struct Mark: Sendable {
        let term: Int
        /// The first known of this term or a higher one.
        var position: UInt64
    }

    /// Marks of a slot. The oldest give way, and with them what was written late while the stream was in their times.
    package static let maximumMarks = 32

    /// In nanoseconds: a message that stands before another one in the same stream is not younger than it by more, as far as the
    /// clocks of servers agree.
    private static let clockDifference: Int64 = 10_000_000_000

    /// By rising terms and positions.
    private var marks: [Slot: [Mark]] = [:]
    /// By how much a message may be younger than the furthest one that stands behind it, or be of another stream.
    private var allowance = Self.clockDifference
    /// The furthest message that was seen.
    private var last: (position: UInt64, time: Int64)?
    /// How many late messages were seen.
    package private(set) var staleCount = 0

    package init() {}

    /// The stream is another one.
    package mutating func forget() { (marks, last, allowance) = ([:], nil, Self.clockDifference) }

    /// The stream may be another one: what stands before the furthest message and is younger decides.
    package mutating func expectNewStream() { allowance = 0 }

    /// Takes a message, or a fence that was read apart.
    ///
    /// - Parameters:
    ///   - position: Its sequence in the stream.
    ///   - time: When it was stored, in nanoseconds since 1970.
    /// - Returns: Whether it is one of an old owner that came after the new owner's first one.
    @discardableResult
    package mutating func isStale(_ slot: Slot, term: Int, position: UInt64, time: Int64) -> Bool {
        if let last, position <= last.position, time > last.time + allowance { forget() }
        if position > last?.position ?? 0 { (last, allowance) = ((position, time), Self.clockDifference) }
        let known = marks[slot] ?? []
        if known.contains(where: { $0.term > term && $0.position < position }) {
            staleCount += 1
            return true
        }
        // What is known to be at or before this position under this term or a higher one says it already.
        guard !known.contains(where: { $0.term >= term && $0.position <= position }) else { return false }
        var new = known.filter { $0.term > term || $0.position < position }
        let index = new.firstIndex { $0.term > term } ?? new.endIndex
        new.insert(Mark(term: term, position: position), at: index)
        marks[slot] = new.suffix(Self.maximumMarks)
        return false
    }

    /// The same for a message of the stream; those that no relay wrote are never stale.
    package mutating func isStale(_ message: RelayMessage, position: UInt64, time: Int64) -> Bool {
        guard let slot = message.slot, let term = message.author?.term else { return false }
        return isStale(slot, term: term, position: position, time: time)
    }
}
