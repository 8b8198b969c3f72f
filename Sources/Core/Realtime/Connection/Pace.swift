package import Basics

/// How often a server is asked that makes work with every answer: a few times at once, then at an interval. No limit that a
/// server which behaves ever meets.
package struct Pace: Sendable {
    private let interval: Duration
    private let burst: Int
    /// When all that was done would have been, at the interval.
    private var reached: MonotonicInstant?

    /// - Parameters:
    ///   - interval: In the long run.
    ///   - burst: How many may come one after the other before that counts.
    package init(interval: Duration, burst: Int) {
        (self.interval, self.burst) = (interval, burst)
    }

    /// - Returns: When the next may come, if not at once.
    package mutating func done(now: MonotonicInstant) -> MonotonicInstant? {
        let next = max(reached ?? now, now) + interval
        reached = next
        let wait = next - now - interval * burst
        return wait > .zero ? now + wait : nil
    }
}
