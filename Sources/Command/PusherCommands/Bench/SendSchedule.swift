import Basics
import Glibc

/// When things are meant to happen at a steady rate, whether or not the earlier ones are done: what is late does not
/// shift what follows, and so does not vanish from the measurement.
struct SendSchedule: Sendable {
    let start: MonotonicInstant
    /// In a second; 0 is as fast as possible.
    let rate: Double

    var isPaced: Bool { rate > 0 }

    /// When number `index`, counted from 0, is due; nil if that is at once.
    func due(_ index: Int) -> MonotonicInstant? {
        isPaced ? start + .seconds(Double(index) / rate) : nil
    }

    /// How many are due in `duration`; nil if there is no end to them.
    func count(in duration: Duration) -> Int? {
        isPaced ? Int((duration / .seconds(1) * rate).rounded()) : nil
    }

    /// Returns when number `index` is due, at once if that has passed.
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
