import Foundation

/// Records when this process stood still: it was stopped, or its machine slept.
///
/// Data that a socket received before is read afterwards, and seems to be that new.
struct StandstillRecord: Sendable {
    /// The interval between calls of ``tick(at:)``, in seconds.
    static let interval = 0.5
    /// The delay, in seconds, beyond which a tick follows a standstill.
    static let tolerance = 1.5
    /// The time after a standstill during which data received before its end may be read, in seconds.
    static let backlog = 1.0
    private static let limit = 16

    private var last: Date
    private var standstills: [(start: Date, end: Date)] = []

    init(at now: Date) { last = now }

    mutating func tick(at now: Date) {
        if now.timeIntervalSince(last) > Self.tolerance {
            standstills = (standstills + [(last, now)]).suffix(Self.limit)
        }
        last = now
    }

    /// - Returns: The earliest time at which what was read at `date` may have been received.
    func earliestReceipt(ofReadAt date: Date) -> Date {
        standstills.first { $0.start <= date && date <= $0.end.addingTimeInterval(Self.backlog) }?.start ?? date
    }
}
