/// A point in time on a monotonic clock, in nanoseconds since an arbitrary start.
///
/// Machines receive the current time as an argument and never read a clock themselves, so a test can pass any time.
package struct MonotonicInstant: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.nanoseconds < rhs.nanoseconds
    }

    /// Saturates in the far future instead of overflowing, so `Duration` values of any size are accepted.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return Self(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    package static func - (lhs: Self, rhs: Self) -> Duration {
        .nanoseconds(lhs.nanoseconds) - .nanoseconds(rhs.nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds, saturating at the limits of `Int64` (292 years).
    package var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}
