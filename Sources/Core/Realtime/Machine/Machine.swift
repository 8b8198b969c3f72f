package import Basics

/// A protocol's logic as a value: no socket, clock, task or code of the application inside.
///
/// Each event of the outside world is a method that takes the moment as `now:` and returns nothing, or something about the
/// call itself. What follows from the events waits, in order, until the owner takes it with ``takeActions()`` and carries
/// it out. Waiting is one deadline: the owner calls ``timePassed(now:)`` no later than ``nextDeadline``.
///
/// `Driver` in `CurlTransport` is such an owner.
package protocol Machine: Sendable {
    associatedtype Action: Sendable

    /// When ``timePassed(now:)`` may have something to do next.
    var nextDeadline: MonotonicInstant? { get }

    /// What is to be done, in order. It is not returned again.
    mutating func takeActions() -> [Action]

    mutating func timePassed(now: MonotonicInstant)

    /// The system has lost its network.
    mutating func networkLost(now: MonotonicInstant)

    /// The system has a network again, or another one.
    mutating func networkReturned(now: MonotonicInstant)
}
