import Foundation

/// When this process stood still: it was stopped, or its machine slept.
///
/// What a socket had received by then is read afterwards, and seems to be as new as that.
struct StandstillRecord: Sendable {
    /// How often ``tick(at:)`` is to be called, in seconds.
    static let interval = 0.5
    /// A tick that is later than that, in seconds, comes after a standstill.
    static let tolerance = 1.5
    /// How long after a standstill what came before its end may be read, in seconds.
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
