import Testing

@testable import PusherProtocol

/// The assignment of answers to requests.
struct OwedAnswersTests {
    private var owed = OwedAnswers()

    @Test mutating func whatNobodyAskedForIsNoAnswer() {
        #expect(owed.answered() == .unasked)
        owed.subscribed()
        #expect(owed.answered() == .toTheLastOne)
        #expect(owed.answered() == .unasked)
        #expect(owed.isEmpty)
        // It does not affect later requests.
        owed.subscribed()
        #expect(!owed.isEmpty)
        #expect(owed.answered() == .toTheLastOne)
    }

    @Test mutating func answersComeInOrder() {
        for _ in 1...3 { owed.subscribed() }
        #expect(owed.answered() == .toAnEarlierOne)
        #expect(owed.answered() == .toAnEarlierOne)
        #expect(owed.answered() == .toTheLastOne)
        #expect(owed.isEmpty)
    }

    /// An error without a channel may have answered an earlier request; the next answer then belongs to the last one.
    @Test mutating func aRefusalWithoutANameMayBeAnAnswer() {
        for _ in 1...2 { owed.subscribed() }
        owed.mayBeRefused()
        #expect(owed.answered() == .toTheLastOne)
        owed.mayBeRefused()
        owed.mayBeRefused()
        owed.subscribed()
        #expect(owed.answered() == .toTheLastOne)
    }

    /// A server may lose an answer: once one answer was skipped and the last request timed out, the next answer counts.
    @Test mutating func afterATimeOutTheNextAnswerCounts() {
        for _ in 1...3 { owed.subscribed() }
        #expect(owed.answered() == .toAnEarlierOne)
        owed.timedOut()
        #expect(owed.answered() == .toTheLastOne)
    }

    @Test mutating func aTimeOutAloneIsNoReasonToDoubtTheOrder() {
        for _ in 1...2 { owed.subscribed() }
        owed.timedOut()
        #expect(owed.answered() == .toAnEarlierOne)
        owed.subscribed()
        owed.timedOut()
        #expect(owed.answered() == .toAnEarlierOne)
        #expect(owed.answered() == .toTheLastOne)
    }
}
