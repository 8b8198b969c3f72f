import Basics
import Glibc

/// A schedule at a steady rate, independent of completion: a late event does not delay the following ones, so that
/// delays do not disappear from the measurement.
struct SendSchedule: Sendable {
    let start: MonotonicInstant
    /// The rate per second; 0 is as fast as possible.
    let rate: Double

    var isPaced: Bool { rate > 0 }

    /// Returns the due time of number `index`, counted from 0; `nil` if it is due at once.
    func due(_ index: Int) -> MonotonicInstant? {
        isPaced ? start + .seconds(Double(index) / rate) : nil
    }

    /// Returns the number of events due in `duration`; `nil` if it is unlimited.
    func count(in duration: Duration) -> Int? {
        isPaced ? Int((duration / .seconds(1) * rate).rounded()) : nil
    }

    /// Waits until number `index` is due; returns at once if that time has passed.
    func wait(for index: Int) async throws {
        guard let due = due(index) else { return try Task.checkCancellation() }
        try await MonotonicInstant.wait(until: due)
    }
}

extension MonotonicInstant {
    static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Self(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func wait(until instant: Self) async throws {
        let remaining = instant - now
        if remaining > .zero { try await Task.sleep(for: remaining, tolerance: .zero) }
        try Task.checkCancellation()
    }
}
