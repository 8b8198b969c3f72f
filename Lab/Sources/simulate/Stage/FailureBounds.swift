import Basics
import Realtime

/// Bounds on the failures in a row that a connection may count, seen from outside: the time after which it treats a
/// connection as a success is random.
struct FailureBounds {
    private(set) var fewest = 0
    private(set) var most = 0
    private var immediateRetries = 0

    /// The application asked to connect: the count restarts unless an attempt was pending.
    mutating func connectAsked() {
        (fewest, immediateRetries) = (0, 0)
    }

    /// - Parameter connectedAt: The start of the connection that now ends; `nil` if there was none.
    mutating func connectionEnds(since connectedAt: MonotonicInstant?, now: MonotonicInstant) {
        guard let connectedAt else { return }
        if now - connectedAt >= ConnectionMachine.stableAfter { connectAsked() }
        if now - connectedAt >= ConnectionMachine.stableAfter * 2 { most = 0 }
    }

    /// Counts a failure, after ``connectionEnds(since:now:)``.
    mutating func failed() {
        fewest += 1
        most += 1
    }

    /// Counts a failure, and checks the following wait.
    ///
    /// - Returns: Whether the wait may be that short.
    mutating func failed(thenWaits delay: Duration, _ policy: ReconnectPolicy) -> Bool {
        defer { failed() }
        let isImmediate = policy == .quadratic() ? delay < policy.longestDelay(attempt: fewest) : delay == .zero
        guard isImmediate else { return true }
        immediateRetries += 1
        return delay == .zero && immediateRetries <= ConnectionMachine.maximumImmediateRetries
    }
}
