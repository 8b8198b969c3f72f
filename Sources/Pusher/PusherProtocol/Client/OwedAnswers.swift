/// The answers that the server still owes for subscriptions to one channel on this connection. A server answers in
/// order, but may refuse a subscription with an error that names no channel (Pusher protocol, "Subscription errors").
struct OwedAnswers: Sendable {
    enum Answer: Sendable {
        /// No answer was owed.
        case unasked
        /// The answer is for a subscription that ended before the last one was sent.
        case toAnEarlierOne
        case toTheLastOne
    }

    private var atMost = 0
    /// The owed answers without those that errors without a channel may have settled.
    private var atLeast = 0
    /// Whether an answer since the last subscription was attributed to an earlier one.
    private var wasPassedOver = false

    var isEmpty: Bool { atMost == 0 }

    mutating func subscribed() {
        atMost += 1
        atLeast += 1
        wasPassedOver = false
    }

    mutating func answered() -> Answer {
        guard atMost > 0 else { return .unasked }
        let isEarlier = atLeast > 1
        atMost -= 1
        atLeast = max(atLeast - 1, 0)
        if isEarlier { wasPassedOver = true }
        return isEarlier ? .toAnEarlierOne : .toTheLastOne
    }

    /// Records an error that names no channel.
    mutating func mayBeRefused() {
        atLeast = max(atLeast - 1, 0)
    }

    /// Records that the last subscription has timed out. A server that silently lost an earlier one may have answered
    /// the last one. Nothing is certain any more, so the next answer counts.
    mutating func timedOut() {
        if wasPassedOver { atLeast = 0 }
    }
}
