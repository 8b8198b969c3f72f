package import Basics

/// A rate limit for requests to a server whose every answer causes another request: a burst first, then one per
/// interval. A well-behaved server never reaches it.
package struct Pace: Sendable {
    private let interval: Duration
    private let burst: Int
    /// The time at which everything done so far would have been done at the interval.
    private var reached: MonotonicInstant?

    /// - Parameters:
    ///   - interval: The time between requests in the long run.
    ///   - burst: The number of requests allowed in a row before the interval applies.
    package init(interval: Duration, burst: Int) {
        (self.interval, self.burst) = (interval, burst)
    }

    /// - Returns: The time of the next request; nil if it may be sent at once.
    package mutating func done(now: MonotonicInstant) -> MonotonicInstant? {
        let next = max(reached ?? now, now) + interval
        reached = next
        let wait = next - now - interval * burst
        return wait > .zero ? now + wait : nil
    }
}
