/// What the server still owes to the subscriptions to one channel on this connection. It answers in order, but may refuse
/// one with an error that names no channel (Pusher protocol, "Subscription errors").
struct OwedAnswers: Sendable {
    enum Answer: Sendable {
        /// Nothing was owed.
        case unasked
        /// To a subscription that was ended before the last one was sent.
        case toAnEarlierOne
        case toTheLastOne
    }

    private var atMost = 0
    /// Without those that errors without a channel may have answered.
    private var atLeast = 0
    /// Since the last subscription was sent, an answer was taken to be for an earlier one.
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

    /// An error came that names no channel.
    mutating func mayBeRefused() {
        atLeast = max(atLeast - 1, 0)
    }

    /// The last subscription has timed out. A server that loses one in silence may have answered it all the same: nothing
    /// is certain any more, so that the next answer counts.
    mutating func timedOut() {
        if wasPassedOver { atLeast = 0 }
    }
}
