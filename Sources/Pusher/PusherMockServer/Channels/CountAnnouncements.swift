import Basics

/// When a channel's number of subscribers is told: at every change, but of a large channel not more often than
/// every five seconds. Pusher protocol, "Subscription count events".
struct CountAnnouncements {
    static let largeChannel = 100
    static let interval: Duration = .seconds(5)

    /// Large channels only.
    private var lastTold: [String: MonotonicInstant] = [:]
    private var due: [String: MonotonicInstant] = [:]

    var nextDeadline: MonotonicInstant? { due.values.min() }

    /// Says whether to tell now; if not, it will be due later.
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

    /// The channels whose turn it is, sorted.
    mutating func takeDue(now: MonotonicInstant) -> [String] {
        let channels = due.filter { $0.value <= now }.keys.sorted()
        for channel in channels {
            due[channel] = nil
            lastTold[channel] = now
        }
        return channels
    }
}
