import Basics

/// Decides when to report that the stream does not accept published messages: at once, and then every minute.
struct StoreTrouble: Sendable {
    private static let interval = Duration.seconds(60)

    private var told: (kind: NATSError.Kind, time: MonotonicInstant)?

    mutating func failed(_ error: NATSError, now: MonotonicInstant) -> Bool {
        // Observers of the connection already know that it is lost.
        guard error.kind != .notConnected else { return false }
        if let told, told.kind == error.kind, now - told.time < Self.interval { return false }
        told = (error.kind, now)
        return true
    }

    mutating func stored() { told = nil }
}
