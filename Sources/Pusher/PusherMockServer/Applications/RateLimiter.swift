import Basics

/// Admits at most `limit` items in any period of one second.
struct RateLimiter {
    private static let window: Duration = .seconds(1)

    private let limit: Int
    /// The times of the last admissions, oldest first; at most `limit`.
    private var admitted: [MonotonicInstant] = []

    init(limit: Int) {
        self.limit = limit
    }

    mutating func admits(now: MonotonicInstant) -> Bool {
        admitted.removeAll { now - $0 >= Self.window }
        guard admitted.count < limit else { return false }
        admitted.append(now)
        return true
    }
}
