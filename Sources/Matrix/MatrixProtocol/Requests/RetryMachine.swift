package import Basics

/// When a request that failed is made again. One for each request.
package struct RetryMachine: Sendable {
    package struct Policy: Hashable, Sendable {
        /// Repeats after a server that limits the rate; none begins when the operation is older.
        package var rateLimitBound: Duration
        /// Tries in all of a request whose connection fails.
        package var connectionTries: Int
        /// The longest pause before a try after a failed connection.
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
    /// The shortest wait after the next answer that limits the rate, whatever that says.
    private var rateLimitFloor = Duration.milliseconds(10)

    /// - Parameter isRepeatable: Making it twice does what making it once does.
    package init(_ policy: Policy, isRepeatable: Bool, now: MonotonicInstant) {
        self.policy = policy
        self.isRepeatable = isRepeatable
        start = now
    }

    /// The connection failed.
    ///
    /// - Parameters:
    ///   - neverLeft: Nothing of the request can have reached the server.
    ///   - random: From 0 to 1.
    package mutating func connectionFailed(neverLeft: Bool, random: Double) -> Action {
        failedConnections += 1
        guard isRepeatable || neverLeft, failedConnections < policy.connectionTries else { return .giveUp }
        return .retry(after: policy.connectionPause.bounded * min(max(random, 0), 1))
    }

    /// The server limits the rate (429).
    package mutating func rateLimited(retryAfter: Duration?, now: MonotonicInstant) -> Action {
        let wait = max(retryAfter ?? .seconds(1), rateLimitFloor)
        rateLimitFloor = min(rateLimitFloor * 2, .seconds(1))
        return now + wait - start <= policy.rateLimitBound ? .retry(after: wait) : .giveUp
    }
}
