import Testing

@testable import PusherProtocol

/// Whose answer an answer is.
struct OwedAnswersTests {
    private var owed = OwedAnswers()

    @Test mutating func whatNobodyAskedForIsNoAnswer() {
        #expect(owed.answered() == .unasked)
        owed.subscribed()
        #expect(owed.answered() == .toTheLastOne)
        #expect(owed.answered() == .unasked)
        #expect(owed.isEmpty)
        // It takes nothing from those that come later.
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

    /// An error that names no channel may have been the answer to an earlier one: then the next is for the last.
    @Test mutating func aRefusalWithoutANameMayBeAnAnswer() {
        for _ in 1...2 { owed.subscribed() }
        owed.mayBeRefused()
        #expect(owed.answered() == .toTheLastOne)
        owed.mayBeRefused()
        owed.mayBeRefused()
        owed.subscribed()
        #expect(owed.answered() == .toTheLastOne)
    }

    /// A server may have lost one in silence: once an answer was passed over and the last one timed out, the next counts.
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
