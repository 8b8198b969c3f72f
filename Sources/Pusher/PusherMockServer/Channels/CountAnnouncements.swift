import Basics

/// Decides when a channel's number of subscribers is reported: at every change, but for a large channel at most every
/// five seconds. Pusher protocol, "Subscription count events".
struct CountAnnouncements {
    static let largeChannel = 100
    static let interval: Duration = .seconds(5)

    /// The time of the last report, for large channels only.
    private var lastTold: [String: MonotonicInstant] = [:]
    private var due: [String: MonotonicInstant] = [:]

    var nextDeadline: MonotonicInstant? { due.values.min() }

    /// Returns whether to report now; if not, the report is due later.
    mutating func countChanged(to count: Int, of channel: String, now: MonotonicInstant) -> Bool {
        guard count > Self.largeChannel else {
            forget(channel)
            return true
        }
        if let last = lastTold[channel], now - last < Self.interval {
            due[channel] = last + Self.interval
            return false
        }
        lastTold[channel] = now
        due[channel] = nil
        return true
    }

    mutating func forget(_ channel: String) {
        lastTold[channel] = nil
        due[channel] = nil
    }

    /// Returns the channels whose report is due, sorted.
    mutating func takeDue(now: MonotonicInstant) -> [String] {
        let channels = due.filter { $0.value <= now }.keys.sorted()
        for channel in channels {
            due[channel] = nil
            lastTold[channel] = now
        }
        return channels
    }
}
