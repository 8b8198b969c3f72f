/// Distinguishes messages of an owner from late ones of an earlier owner. A stream is totally ordered, and a message is
/// ignored if it follows one of a higher term of the same slot.
///
/// A message that precedes the higher term in the stream is valid, even if it is delivered later: positions decide, not
/// the order of delivery. A reader that starts in the middle therefore receives the last fences first.
///
/// A stream that was created again starts with lower positions and, with a new bucket, with lower terms. All knowledge
/// of the old one is then discarded.
package struct TermFilter: Sendable {
    private struct Mark: Sendable {
        let term: Int
        /// The first known position of this term or a higher one.
        var position: UInt64
    }

    /// The maximum number of marks per slot. The oldest are discarded, and late messages from their time are then no
    /// longer recognized.
    package static let maximumMarks = 32

    /// In nanoseconds. A message is not newer than a later one in the same stream by more than this, as far as the
    /// clocks of servers agree.
    private static let clockDifference: Int64 = 10_000_000_000

    /// Ordered by increasing terms and positions.
    private var marks: [Slot: [Mark]] = [:]
    /// The time by which a message may be newer than the furthest one, which follows it. Beyond that, it is from
    /// another stream.
    private var allowance = Self.clockDifference
    private var last: (position: UInt64, time: Int64)?
    /// The number of late messages seen.
    package private(set) var staleCount = 0

    package init() {}

    /// Discards all knowledge, because the stream is another one.
    package mutating func forget() { (marks, last, allowance) = ([:], nil, Self.clockDifference) }

    /// Expects a possible new stream. A message before the furthest one that is newer proves it.
    package mutating func expectNewStream() { allowance = 0 }

    /// Processes a message, or a fence that was read separately.
    ///
    /// - Parameters:
    ///   - position: Its sequence in the stream.
    ///   - time: The time at which it was stored, in nanoseconds since 1970.
    /// - Returns: Whether it is from an old owner and follows the new owner's first message.
    @discardableResult
    package mutating func isStale(_ slot: Slot, term: Int, position: UInt64, time: Int64) -> Bool {
        if let last, position <= last.position, time > last.time + allowance { forget() }
        if position > last?.position ?? 0 { (last, allowance) = ((position, time), Self.clockDifference) }
        let known = marks[slot] ?? []
        if known.contains(where: { $0.term > term && $0.position < position }) {
            staleCount += 1
            return true
        }
        // A mark at or before this position with this term or a higher one already covers it.
        guard !known.contains(where: { $0.term >= term && $0.position <= position }) else { return false }
        var new = known.filter { $0.term > term || $0.position < position }
        let index = new.firstIndex { $0.term > term } ?? new.endIndex
        new.insert(Mark(term: term, position: position), at: index)
        marks[slot] = new.suffix(Self.maximumMarks)
        return false
    }

    /// Processes a message of the stream. Messages that are not from a relay are never stale.
    package mutating func isStale(_ message: RelayMessage, position: UInt64, time: Int64) -> Bool {
        guard let slot = message.slot, let term = message.author?.term else { return false }
        return isStale(slot, term: term, position: position, time: time)
    }
}
