import Basics

/// What stands at the start of the data of each event: `RUN SEQUENCE NANOSECONDS `, then padding. Nothing in it needs
/// escaping in JSON, so that reading it costs little.
struct EventStamp: Equatable {
    /// Data that holds every stamp.
    static let maximumSize = 64

    /// Tells the events of this run from those of others on the same channels, and from the warm-up.
    let run: UInt32
    /// Counted from 0 on each channel.
    let sequence: Int
    /// When the event was meant to be sent.
    let intended: MonotonicInstant

    init(run: UInt32, sequence: Int, intended: MonotonicInstant) {
        self.run = run
        self.sequence = sequence
        self.intended = intended
    }

    /// The stamp of an event's data; nil if there is none.
    init?(_ data: String) {
        let parts = data.utf8.prefix(Self.maximumSize)
            .split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let run = UInt32(Substring(parts[0])), let sequence = Int(Substring(parts[1])),
            let nanoseconds = Int64(Substring(parts[2])), (0..<1 << 53).contains(sequence), nanoseconds >= 0
        else { return nil }
        self.init(run: run, sequence: sequence, intended: MonotonicInstant(nanoseconds: nanoseconds))
    }

    /// Data of `size` bytes.
    func data(size: Int) -> String {
        let text = "\(run) \(sequence) \(intended.nanoseconds) "
        return text + String(repeating: ".", count: max(size - text.utf8.count, 0))
    }
}
