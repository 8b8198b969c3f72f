package import Basics

/// Decides when to retry a failed request. Create one for each request.
package struct RetryMachine: Sendable {
    package struct Policy: Hashable, Sendable {
        /// The maximum age of a request at which it is retried after a rate limit.
        package var rateLimitBound: Duration
        /// The total number of attempts when the connection fails.
        package var connectionTries: Int
        /// The maximum delay before a retry after a failed connection.
        package var connectionPause: Duration

        package init(rateLimitBound: Duration, connectionTries: Int, connectionPause: Duration) {
            self.rateLimitBound = rateLimitBound
            self.connectionTries = connectionTries
            self.connectionPause = connectionPause
        }
    }

    package enum Action: Equatable {
        case retry(after: Duration)
        case giveUp
    }

    private let policy: Policy
    private let start: MonotonicInstant
    private let isRepeatable: Bool
    private var failedConnections = 0
    /// The minimum delay after the next rate limit, whatever the server asks for.
    private var rateLimitFloor = Duration.milliseconds(10)

    /// - Parameter isRepeatable: Whether the request is idempotent.
    package init(_ policy: Policy, isRepeatable: Bool, now: MonotonicInstant) {
        self.policy = policy
        self.isRepeatable = isRepeatable
        start = now
    }

    /// Handles a failed connection.
    ///
    /// - Parameters:
    ///   - neverLeft: Whether certainly no part of the request reached the server.
    ///   - random: From 0 to 1.
    package mutating func connectionFailed(neverLeft: Bool, random: Double) -> Action {
        failedConnections += 1
        guard isRepeatable || neverLeft, failedConnections < policy.connectionTries else { return .giveUp }
        return .retry(after: policy.connectionPause.bounded * min(max(random, 0), 1))
    }

    /// Handles a rate limit from the server (429).
    package mutating func rateLimited(retryAfter: Duration?, now: MonotonicInstant) -> Action {
        let wait = max(retryAfter ?? .seconds(1), rateLimitFloor)
        rateLimitFloor = min(rateLimitFloor * 2, .seconds(1))
        return now + wait - start <= policy.rateLimitBound ? .retry(after: wait) : .giveUp
    }
}
