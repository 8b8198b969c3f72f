/// The one place where a number or a time that a user or a peer chose becomes a `Duration`.
///
/// `Duration` traps where it is made from infinity, NaN or more than 10²⁰ seconds, and so does arithmetic with what is near
/// that; its seconds trap above 2⁶³.
extension Duration {
    /// Longer than anything runs: 100 years. Sums of such times, and their nanoseconds, do not overflow.
    package static let never = Duration.seconds(3_155_760_000)

    /// A number of seconds that may be any: infinity, and what is longer than ``never``, is ``never``; what is below
    /// zero is zero.
    ///
    /// - Returns: Nil for NaN, which is no time.
    package static func bounded(seconds: Double) -> Duration? {
        guard !seconds.isNaN else { return nil }
        guard seconds < 3_155_760_000 else { return never }
        return .seconds(max(seconds, 0))
    }

    /// The same of a whole number.
    package static func bounded(seconds: Int) -> Duration { .seconds(min(max(seconds, 0), 3_155_760_000)) }

    /// From zero to ``never``.
    package var bounded: Duration { min(max(self, .zero), .never) }

    /// Infinity from ``never`` on.
    package var inSeconds: Double { self >= .never ? .infinity : self / .seconds(1) }
}

extension Double {
    /// Whole seconds or milliseconds since 1970, say: NaN is zero, and what does not fit is the nearest that does.
    package var clampedToInt64: Int64 {
        if isNaN { return 0 }
        return Int64(exactly: rounded(.down)) ?? (self < 0 ? .min : .max)
    }
}
