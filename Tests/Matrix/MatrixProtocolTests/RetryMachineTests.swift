import Basics
import MatrixProtocol
import TestSupport
import Testing

struct RetryMachineTests {
    private let policy = RetryMachine.Policy(
        rateLimitBound: .seconds(60), connectionTries: 3, connectionPause: .seconds(10))

    @Test func aRequestThatMayBeRepeatedIsTriedSoOften() {
        var machine = RetryMachine(policy, isRepeatable: true, now: .at(0))
        #expect(machine.connectionFailed(neverLeft: false, random: 0.5) == .retry(after: .seconds(5)))
        #expect(machine.connectionFailed(neverLeft: true, random: 0) == .retry(after: .zero))
        #expect(machine.connectionFailed(neverLeft: true, random: 0) == .giveUp)
    }

    @Test func anotherIsRepeatedOnlyIfTheServerCannotHaveSeenIt() {
        var machine = RetryMachine(policy, isRepeatable: false, now: .at(0))
        #expect(machine.connectionFailed(neverLeft: true, random: 1) == .retry(after: .seconds(10)))
        #expect(machine.connectionFailed(neverLeft: false, random: 1) == .giveUp)
    }

    @Test(arguments: [(-1, 0), (0, 0), (1, 10), (7, 10)] as [(Double, Int)])
    func noPauseIsLongerThanTheLongest(random: Double, seconds: Int) {
        var machine = RetryMachine(policy, isRepeatable: true, now: .at(0))
        #expect(machine.connectionFailed(neverLeft: true, random: random) == .retry(after: .seconds(seconds)))
    }

    /// No retry starts once the operation is a minute old.
    @Test(
        arguments: [
            (.seconds(5), 0, .retry(after: .seconds(5))), (nil, 0, .retry(after: .seconds(1))),
            (.zero, 0, .retry(after: .milliseconds(10))), (.seconds(-3), 0, .retry(after: .milliseconds(10))),
            (.seconds(60), 0, .retry(after: .seconds(60))), (.seconds(61), 0, .giveUp),
            (.seconds(1), 59, .retry(after: .seconds(1))), (.seconds(1), 59.5, .giveUp),
        ] as [(Duration?, Double, RetryMachine.Action)])
    func aLimitedRateIsWaitedFor(retryAfter: Duration?, now: Double, action: RetryMachine.Action) {
        var machine = RetryMachine(policy, isRepeatable: false, now: .at(0))
        #expect(machine.rateLimited(retryAfter: retryAfter, now: .at(now)) == action)
    }
}
