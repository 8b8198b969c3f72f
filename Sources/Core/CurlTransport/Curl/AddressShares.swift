import Basics

/// The time for each address of a host to answer before the next one is tried, so that a silent one does not use up the
/// time of all.
///
/// libcurl gives each address half of the remaining time: with a distant limit the first one waits forever, and with a
/// near one the fifth gets nothing. It does not report the number of addresses. In a first round, each address
/// therefore gets a short time, enough for any distance on earth, and the first address of a family enough for a lost
/// packet. If none of them answers, the number of silent ones is known, and the following rounds divide the remaining
/// time among them.
struct AddressShares {
    private let deadline: MonotonicInstant
    private let firstShare: Duration
    private let share: Duration
    private var isFirstRound = true
    /// The addresses of this round by family, since libcurl tries both families at the same time.
    private var tried: [Int32: Int] = [:]
    private var silent: [Int32: Int] = [:]
    /// The number of addresses in the previous round.
    private var knownCount = 0

    /// - Parameter limit: The time for all addresses together. Twenty are tried in less than three quarters of it.
    init(limit: Duration, now: MonotonicInstant) {
        deadline = now + limit.bounded
        firstShare = min(limit.bounded / 8, .seconds(2))
        share = min(limit.bounded / 32, .milliseconds(500))
    }

    /// Returns the time for the next address, or nil without a limit because there is no other address.
    mutating func next(family: Int32, now: MonotonicInstant) -> Duration? {
        defer { tried[family, default: 0] += 1 }
        if isFirstRound { return tried[family] == nil ? firstShare : share }
        return knownCount == 1 ? nil : max((deadline - now) / (knownCount + 1), share)
    }

    /// Records that an address did not answer in time.
    mutating func wasSilent(family: Int32) { silent[family, default: 0] += 1 }

    /// Whether an address was given up that may still answer.
    var areSomeSilent: Bool { !silent.isEmpty }

    /// Starts to retry the silent addresses, because none has answered, if there is time.
    mutating func beginNextRound(now: MonotonicInstant) -> Bool {
        guard areSomeSilent, now < deadline else { return false }
        knownCount = silent.values.max() ?? 0
        (isFirstRound, tried, silent) = (false, [:], [:])
        return true
    }
}
