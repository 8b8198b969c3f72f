package import Basics

extension MonotonicInstant {
    /// The start of a test's time.
    package static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// A moment in a test's time.
    package static func at(_ seconds: Double) -> MonotonicInstant { start + .seconds(seconds) }
}
