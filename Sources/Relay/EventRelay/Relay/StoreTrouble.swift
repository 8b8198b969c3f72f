import Basics

/// Decides when people are told that the stream does not take what is published: at once, and then each minute.
struct StoreTrouble: Sendable {
    private static let interval = Duration.seconds(60)

    private var told: (kind: NATSError.Kind, time: MonotonicInstant)?

    /// - Returns: Whether to tell of it.
    mutating func failed(_ error: NATSError, now: MonotonicInstant) -> Bool {
        // Who observes the connection knows that there is none.
        guard error.kind != .notConnected else { return false }
        if let told, told.kind == error.kind, now - told.time < Self.interval { return false }
        told = (error.kind, now)
        return true
    }

    mutating func stored() { told = nil }
}
