package import Basics

/// A protocol's logic as a value, without a socket, clock, task or application code inside.
///
/// Each external event is a method that takes the time as `now:` and returns nothing, or a result that concerns the
/// call itself. The resulting actions are queued until the owner takes them with ``takeActions()`` and performs them in
/// order. All waiting is a single deadline: the owner calls ``timePassed(now:)`` no later than ``nextDeadline``.
///
/// `Driver` in `CurlTransport` is such an owner.
package protocol Machine: Sendable {
    associatedtype Action: Sendable

    /// The time at which ``timePassed(now:)`` may next have something to do.
    var nextDeadline: MonotonicInstant? { get }

    /// Returns the pending actions in order and removes them.
    mutating func takeActions() -> [Action]

    mutating func timePassed(now: MonotonicInstant)

    mutating func networkLost(now: MonotonicInstant)

    /// Reports that the system has a network again, or a different one.
    mutating func networkReturned(now: MonotonicInstant)
}
