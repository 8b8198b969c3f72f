import Basics

/// The prefix of each event's data: `RUN SEQUENCE NANOSECONDS `, then padding. None of it needs escaping in JSON, so
/// that it is cheap to read.
struct EventStamp: Equatable {
    /// The size of data that fits every stamp.
    static let maximumSize = 64

    /// Distinguishes the events of this run from others on the same channels, and from the warm-up.
    let run: UInt32
    /// The number of the event in its channel, from 0.
    let sequence: Int
    /// The time for which the event was scheduled.
    let intended: MonotonicInstant

    init(run: UInt32, sequence: Int, intended: MonotonicInstant) {
        self.run = run
        self.sequence = sequence
        self.intended = intended
    }

    /// Parses the stamp of an event's data; returns `nil` if there is none.
    init?(_ data: String) {
        let parts = data.utf8.prefix(Self.maximumSize)
            .split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let run = UInt32(Substring(parts[0])), let sequence = Int(Substring(parts[1])),
            let nanoseconds = Int64(Substring(parts[2])), (0..<1 << 53).contains(sequence), nanoseconds >= 0
        else { return nil }
        self.init(run: run, sequence: sequence, intended: MonotonicInstant(nanoseconds: nanoseconds))
    }

    /// Returns data of `size` bytes.
    func data(size: Int) -> String {
        let text = "\(run) \(sequence) \(intended.nanoseconds) "
        return text + String(repeating: ".", count: max(size - text.utf8.count, 0))
    }
}
