/// The schedule of typing notifications: one at the first key, repeated while the user types.
struct TypingNotice {
    /// The time in seconds after which others assume that the user has stopped typing.
    static let timeout = 20.0
    private static let interval = Duration.seconds(10)

    private var last: ContinuousClock.Instant?

    /// - Returns: Whether to notify others now.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        if let last, now < last + Self.interval { return false }
        last = now
        return true
    }

    /// - Returns: Whether to notify others.
    mutating func ends() -> Bool {
        defer { last = nil }
        return last != nil
    }
}
