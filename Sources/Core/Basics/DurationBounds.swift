/// The only place where a number or time chosen by a user or a peer becomes a `Duration`.
///
/// `Duration` traps when created from infinity, NaN or more than 10²⁰ seconds, and so does arithmetic with values near
/// that. Its seconds trap above 2⁶³.
extension Duration {
    /// Longer than anything runs: 100 years. Sums of such times, and their nanoseconds, don't overflow.
    package static let never = Duration.seconds(3_155_760_000)

    /// Returns any number of seconds, limited to the range from zero to ``never``. Infinity becomes ``never``.
    ///
    /// - Returns: `nil` for NaN.
    package static func bounded(seconds: Double) -> Duration? {
        guard !seconds.isNaN else { return nil }
        guard seconds < 3_155_760_000 else { return never }
        return .seconds(max(seconds, 0))
    }

    /// Returns a whole number of seconds, limited to the same range.
    package static func bounded(seconds: Int) -> Duration { .seconds(min(max(seconds, 0), 3_155_760_000)) }

    /// The duration, limited to the range from zero to ``never``.
    package var bounded: Duration { min(max(self, .zero), .never) }

    /// The duration in seconds; infinity from ``never`` on.
    package var inSeconds: Double { self >= .never ? .infinity : self / .seconds(1) }
}

extension Double {
    /// The nearest Int64, for example of seconds or milliseconds since 1970; zero for NaN.
    package var clampedToInt64: Int64 {
        if isNaN { return 0 }
        return Int64(exactly: rounded(.down)) ?? (self < 0 ? .min : .max)
    }
}
