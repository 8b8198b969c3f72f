package import Basics

extension MonotonicInstant {
    /// The start time of a test.
    package static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// Returns the moment `seconds` after the start of a test.
    package static func at(_ seconds: Double) -> MonotonicInstant { start + .seconds(seconds) }
}
