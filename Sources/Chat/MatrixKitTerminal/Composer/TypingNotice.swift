/// When others are told that the user is writing: at the first key, and again while it goes on.
struct TypingNotice {
    /// In seconds: then others take it that nothing is written any more.
    static let timeout = 20.0
    private static let interval = Duration.seconds(10)

    private var last: ContinuousClock.Instant?

    /// - Returns: Whether others are to be told now.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        if let last, now < last + Self.interval { return false }
        last = now
        return true
    }

    /// - Returns: Whether others are to be told.
    mutating func ends() -> Bool {
        defer { last = nil }
        return last != nil
    }
}
