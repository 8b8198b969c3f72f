import Basics

/// How long each address of a host may take to answer before the next one is tried, so that one that is silent does not take
/// the time of all.
///
/// libcurl gives each address half of what is left of its time limit: the first waits for ever if the limit is far away,
/// and the fifth gets nothing if it is near. How many addresses there are it does not say. In a first round, each
/// therefore gets a short time, enough for any way on earth, and the first address of a family enough for a packet that was lost.
/// If none of them answers, it is known how many are silent, and the rounds that follow divide what is left among these.
struct AddressShares {
    private let deadline: MonotonicInstant
    private let firstShare: Duration
    private let share: Duration
    private var isFirstRound = true
    /// Addresses of this round by family: libcurl tries both families at the same time.
    private var tried: [Int32: Int] = [:]
    private var silent: [Int32: Int] = [:]
    /// Addresses of the previous round.
    private var knownCount = 0

    /// - Parameter limit: What all of them have together. Twenty are tried in less than three quarters of it.
    init(limit: Duration, now: MonotonicInstant) {
        deadline = now + limit.bounded
        firstShare = min(limit.bounded / 8, .seconds(2))
        share = min(limit.bounded / 32, .milliseconds(500))
    }

    /// The time of the next address; nil: it has no reason to end, for there is no other.
    mutating func next(family: Int32, now: MonotonicInstant) -> Duration? {
        defer { tried[family, default: 0] += 1 }
        if isFirstRound { return tried[family] == nil ? firstShare : share }
        return knownCount == 1 ? nil : max((deadline - now) / (knownCount + 1), share)
    }

    /// An address did not answer in its time.
    mutating func wasSilent(family: Int32) { silent[family, default: 0] += 1 }

    /// Whether some address was given up that may answer yet.
    var areSomeSilent: Bool { !silent.isEmpty }

    /// No address has answered: those that were silent are tried again, if there is time.
    mutating func beginNextRound(now: MonotonicInstant) -> Bool {
        guard areSomeSilent, now < deadline else { return false }
        knownCount = silent.values.max() ?? 0
        (isFirstRound, tried, silent) = (false, [:], [:])
        return true
    }
}
