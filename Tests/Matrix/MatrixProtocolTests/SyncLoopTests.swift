import Basics
import MatrixProtocol
import Realtime
import TestSupport
import Testing

@Suite struct SyncLoopTests {
    private var loop: SyncScript

    init() {
        loop = Self.make()
    }

    private static func make(hasSynced: Bool = true) -> SyncScript {
        var configuration = SyncLoop.Configuration()
        configuration.connection.reconnectPolicy = .quadratic()
        return SyncScript(
            loop: SyncLoop(configuration: configuration, state: .storeDataReady, hasSynced: hasSynced, seed: 1))
    }

    private func poll(_ number: Int, _ timeout: Duration, fresh: Bool = false) -> SyncLoop.Action {
        .poll(SyncLoop.Poll(number: number, serverTimeout: timeout, needsFreshConnection: fresh))
    }

    private mutating func run() {
        _ = loop.start(now: .start)
        _ = loop.answered(1, now: .at(1))
    }

    @Test mutating func theFirstRequestDoesNotWait_andTheNextOnesDo() {
        #expect(
            loop.start(now: .start) == [.changed(from: .storeDataReady, to: .syncInProgress), poll(1, .zero)])
        #expect(loop.isCatchingUp)
        #expect(
            loop.answered(1, now: .at(1)) == [
                .changed(from: .syncInProgress, to: .running), .synced, poll(2, .seconds(30)),
            ])
        #expect(!loop.isCatchingUp)
        #expect(loop.answered(2, now: .at(31)) == [.synced, poll(3, .seconds(30))])
    }

    /// Silence limits: 120 s for the first request; for later ones 60 s until a ping, then 30 s after it.
    @Test(arguments: [false, true])
    mutating func anAnswerThatComesSlowlyIsNotGivenUp(isLater: Bool) {
        if isLater { run() } else { _ = loop.start(now: .start) }
        let number = isLater ? 2 : 1
        for second in 1...20 {
            loop.progressed(number, now: .at(Double(second) * 50))
            #expect(loop.timePassed(now: .at(Double(second) * 50 + 49)) == [])
        }
        let silence = loop.timePassed(now: .at(1000 + (isLater ? 60 : 120)))
        #expect(silence.first == .cancelPoll)
    }

    /// The process or its disk is slow, not the homeserver.
    @Test(arguments: [false, true])
    mutating func onlyWhileARequestIsUnderWayDoesSilenceCount(isLater: Bool) {
        loop.sendsAtOnce = false
        if isLater { run() } else { _ = loop.start(now: .start) }
        let number = isLater ? 2 : 1
        #expect(loop.nextDeadline == nil)
        #expect(loop.timePassed(now: .at(1_000)) == [])
        if !isLater {
            loop.progressed(number, to: .underWay, now: .at(1_000))
            #expect(loop.timePassed(now: .at(1_119)) == [])
        }
        loop.progressed(number, to: .underWay, now: .at(1_100))
        loop.progressed(number, to: .received, now: .at(1_101))
        #expect(loop.nextDeadline == nil)
        #expect(loop.timePassed(now: .at(9_000)) == [])
        #expect(loop.answered(number, now: .at(9_001)).contains(.synced))
        loop.progressed(number + 1, to: .underWay, now: .at(9_002))
        #expect(loop.timePassed(now: .at(9_061)) == [])
        #expect(loop.timePassed(now: .at(9_062)) == [.cancelPoll])
    }

    @Test mutating func aPingHasItsTimeFromWhenItGoesOut() {
        run()
        loop.sendsAtOnce = false
        #expect(loop.networkLost(now: .at(5)) == [.cancelPoll])
        #expect(loop.failed(2, .unreachable, now: .at(5)) == [poll(3, .zero, fresh: true)])
        loop.progressed(3, to: .underWay, now: .at(100))
        #expect(loop.timePassed(now: .at(129)) == [])
        #expect(loop.timePassed(now: .at(130)).contains { if case .failed(.timedOut, _) = $0 { true } else { false } })
    }

    /// The answer is complete, whatever happens to the network.
    @Test(arguments: [false, true])
    mutating func anAnswerThatIsAppliedIsNotAskedForAgain(isLater: Bool) {
        if isLater { run() } else { _ = loop.start(now: .start) }
        let number = isLater ? 2 : 1
        loop.progressed(number, to: .received, now: .at(5))
        #expect(loop.networkLost(now: .at(6)) == [])
        #expect(loop.networkReturned(now: .at(7)) == [])
        #expect(loop.timePassed(now: .at(1_000)) == [])
        #expect(loop.answered(number, now: .at(1_001)).contains(poll(number + 1, .seconds(30))))
    }

    @Test mutating func anAnswerThatCountsNoMoreKeepsNothingAlive() {
        run()
        #expect(loop.timePassed(now: .at(61)) == [.cancelPoll])
        loop.progressed(2, now: .at(80))
        loop.progressed(3, now: .at(80))
        #expect(loop.timePassed(now: .at(91)).contains { if case .failed(.timedOut, _) = $0 { true } else { false } })
    }

    @Test mutating func aServerThatAnswersAtOnceIsAskedTenTimesASecond() {
        run()
        var now = MonotonicInstant.at(2)
        var (polls, number) = (0, 2)
        while now < .at(12) {
            let actions = loop.answered(number, now: now) + loop.timePassed(now: now)
            if case .poll(let poll) = actions.last {
                polls += 1
                number = poll.number
            }
            now = now + .milliseconds(1)
        }
        #expect((90...125).contains(polls))
    }

    @Test mutating func aRequestThatWasGivenUpMayStillApplyItsAnswer_soTheNextWaitsForItsEnd() {
        run()
        #expect(loop.networkLost(now: .at(2)) == [.cancelPoll])
        #expect(loop.answered(2, now: .at(3)) == [.synced, poll(3, .zero, fresh: true)])
        #expect(loop.answered(2, now: .at(4)) == [])
        #expect(loop.failed(2, .unreachable, now: .at(4)) == [])
        #expect(loop.answered(3, now: .at(5)) == [.synced, poll(4, .seconds(30))])
    }

    @Test mutating func aRequestThatIsGivenUpBeforeItsTurnIsNeverMade() {
        run()
        #expect(loop.networkLost(now: .at(2)) == [.cancelPoll])
        #expect(loop.pause(now: .at(3)) == [.changed(from: .running, to: .paused)])
        #expect(loop.failed(2, .unreachable, now: .at(4)) == [])
    }

    @Test mutating func aSyncOfSomebodyElsesComesBetweenTheRequests() {
        run()
        _ = loop.pause(now: .at(2))
        #expect(loop.borrow() == [])
        #expect(loop.failed(2, .unreachable, now: .at(3)) == [.lend])
        #expect(loop.start(now: .at(4)) == [.changed(from: .paused, to: .syncInProgress)])
        #expect(loop.returned() == [poll(3, .zero, fresh: true)])
        #expect(loop.returned() == [])
    }

    @Test mutating func whenTheServerIsGoneItIsTriedAgain_longerEachTime() {
        run()
        let lost = MonotonicInstant.at(2)
        #expect(
            loop.failed(2, .unreachable, now: lost) == [
                .failed(.unreachable, retryAfter: .zero), .changed(from: .running, to: .homeserverNotReachable),
            ])
        #expect(loop.timePassed(now: lost) == [poll(3, .zero, fresh: true)])
        #expect(loop.failed(3, .unreachable, now: lost) == [.failed(.unreachable, retryAfter: .seconds(1))])
        #expect(loop.timePassed(now: lost + .milliseconds(999)) == [])
        #expect(loop.timePassed(now: lost + .seconds(1)) == [poll(4, .zero, fresh: true)])
        #expect(
            loop.answered(4, now: lost + .seconds(2)) == [
                .changed(from: .homeserverNotReachable, to: .running), .synced, poll(5, .seconds(30)),
            ])
    }

    @Test mutating func anErrorOfTheServersIsWaitedFor_asLongAsItSays() {
        run()
        let now = MonotonicInstant.at(2)
        #expect(
            loop.failed(2, .refused(retryAfter: nil), now: now) == [
                .failed(.refused(retryAfter: nil), retryAfter: .seconds(5)),
                .changed(from: .running, to: .syncError),
            ])
        _ = loop.timePassed(now: now + .seconds(5))
        #expect(
            loop.failed(3, .refused(retryAfter: .seconds(40)), now: now + .seconds(6)) == [
                .failed(.refused(retryAfter: .seconds(40)), retryAfter: .seconds(40))
            ])
    }

    /// A server that demands an hour is polled after five minutes: otherwise the silence would go unnoticed.
    @Test mutating func anErrorOfTheServersIsWaitedForFiveMinutesAtMost() {
        run()
        let refused = SyncLoop.Problem.refused(retryAfter: .seconds(3600))
        let now = MonotonicInstant.at(2)
        #expect(loop.failed(2, refused, now: now).first == .failed(refused, retryAfter: .seconds(300)))
        #expect(loop.timePassed(now: now + .seconds(299)) == [])
        #expect(loop.timePassed(now: now + .seconds(300)) == [poll(3, .zero, fresh: true)])
    }

    @Test mutating func aRefusedLoginIsNotTriedAgain() {
        run()
        #expect(
            loop.failed(2, .unauthenticated, now: .at(2)) == [
                .failed(.unauthenticated, retryAfter: nil), .changed(from: .running, to: .syncError),
            ])
        #expect(loop.nextDeadline == nil)
    }

    @Test mutating func aFirstSyncThatFailsIsToldAsSuch_andTriedAgain() {
        loop = Self.make(hasSynced: false)
        _ = loop.start(now: .start)
        #expect(
            loop.failed(1, .unreachable, now: .start) == [
                .failed(.unreachable, retryAfter: .zero), .changed(from: .syncInProgress, to: .initialSyncFailed),
            ])
        #expect(loop.timePassed(now: .start) == [poll(2, .zero, fresh: true)])
    }

    @Test mutating func aPollThatStaysSilentIsReplaced_andThenTheConnectionGivenUp() {
        run()
        let silence = MonotonicInstant.at(61)
        #expect(loop.timePassed(now: silence) == [.cancelPoll])
        #expect(loop.failed(2, .unreachable, now: silence) == [poll(3, .zero, fresh: true)])
        #expect(
            loop.timePassed(now: silence + .seconds(30)) == [
                .cancelPoll, .failed(.timedOut, retryAfter: .zero),
                .changed(from: .running, to: .homeserverNotReachable),
            ])
    }

    @Test mutating func whenTheNetworkIsLostThePollIsReplacedAtOnce() {
        run()
        #expect(loop.networkLost(now: .at(5)) == [.cancelPoll])
        #expect(loop.failed(2, .unreachable, now: .at(5)) == [poll(3, .zero, fresh: true)])
        #expect(loop.answered(3, now: .at(6)) == [.synced, poll(4, .seconds(30))])
    }

    @Test mutating func whenTheNetworkReturnsARetryIsNotWaitedFor() {
        run()
        _ = loop.failed(2, .unreachable, now: .at(2))
        _ = loop.timePassed(now: .at(2))
        _ = loop.failed(3, .unreachable, now: .at(2))
        #expect(loop.networkReturned(now: .at(2)) == [poll(4, .zero, fresh: true)])
    }

    @Test mutating func pausingGivesUpThePoll_andResumingCatchesUp() {
        run()
        #expect(
            loop.pause(now: .at(2)) == [.cancelPoll, .changed(from: .running, to: .paused)])
        #expect(loop.nextDeadline == nil)
        #expect(loop.answered(2, now: .at(3)) == [])
        #expect(
            loop.start(now: .at(9)) == [
                .changed(from: .paused, to: .syncInProgress), poll(3, .zero, fresh: true),
            ])
    }

    @Test mutating func whileItIsHeldNothingIsAskedFor_andSilenceProvesNothing() {
        run()
        #expect(loop.hold(true, now: .at(2)) == [])
        #expect(loop.answered(2, now: .at(3)) == [.synced])
        #expect(loop.nextDeadline == nil)
        #expect(loop.hold(false, now: .at(500)) == [poll(3, .seconds(30))])
    }

    @Test mutating func betweenTwoPollsThereIsNoneToGiveUp() {
        run()
        _ = loop.hold(true, now: .at(2))
        _ = loop.answered(2, now: .at(3))
        #expect(loop.pause(now: .at(4)) == [.changed(from: .running, to: .paused)])
    }

    @Test mutating func onceClosedNothingHappensAnyMore() {
        run()
        #expect(
            loop.close(now: .at(2)) == [.cancelPoll, .changed(from: .running, to: .closed)])
        #expect(loop.timePassed(now: .at(1000)) == [])
        #expect(loop.failed(2, .unreachable, now: .at(1000)) == [])
    }

    @Test mutating func reconnectingAsksAnewAtOnce() {
        run()
        #expect(
            loop.reconnect(now: .at(2)) == [.cancelPoll, .changed(from: .running, to: .syncInProgress)])
        #expect(loop.failed(2, .unreachable, now: .at(2)) == [poll(3, .zero, fresh: true)])
    }
}

/// A loop whose events return its actions.
private struct SyncScript {
    var loop: SyncLoop
    /// Whether actions reach the network at once.
    var sendsAtOnce = true

    var isCatchingUp: Bool { loop.isCatchingUp }
    var nextDeadline: MonotonicInstant? { loop.nextDeadline }

    private mutating func actions(after event: (inout SyncLoop) -> Void) -> [SyncLoop.Action] {
        event(&loop)
        let actions = loop.takeActions()
        for case .poll(let poll) in actions where sendsAtOnce {
            loop.progressed(poll.number, to: .underWay, now: MonotonicInstant.start)
        }
        return actions
    }

    mutating func start(now: MonotonicInstant) -> [SyncLoop.Action] { actions { $0.start(now: now) } }
    mutating func pause(now: MonotonicInstant) -> [SyncLoop.Action] { actions { $0.pause(now: now) } }
    mutating func reconnect(now: MonotonicInstant) -> [SyncLoop.Action] { actions { $0.reconnect(now: now) } }
    mutating func close(now: MonotonicInstant) -> [SyncLoop.Action] { actions { $0.close(now: now) } }
    mutating func borrow() -> [SyncLoop.Action] { actions { $0.borrow() } }
    mutating func returned() -> [SyncLoop.Action] { actions { $0.returned() } }
    mutating func timePassed(now: MonotonicInstant) -> [SyncLoop.Action] { actions { $0.timePassed(now: now) } }
    mutating func networkLost(now: MonotonicInstant) -> [SyncLoop.Action] { actions { $0.networkLost(now: now) } }
    mutating func networkReturned(now: MonotonicInstant) -> [SyncLoop.Action] {
        actions { $0.networkReturned(now: now) }
    }

    mutating func hold(_ isHeld: Bool, now: MonotonicInstant) -> [SyncLoop.Action] {
        actions { $0.hold(isHeld, now: now) }
    }

    mutating func progressed(_ number: Int, to stage: SyncLoop.Stage = .underWay, now: MonotonicInstant) {
        loop.progressed(number, to: stage, now: now)
    }

    mutating func answered(_ number: Int, now: MonotonicInstant) -> [SyncLoop.Action] {
        actions { $0.answered(number, now: now) }
    }

    mutating func failed(_ number: Int, _ problem: SyncLoop.Problem, now: MonotonicInstant) -> [SyncLoop.Action] {
        actions { $0.failed(number, problem, now: now) }
    }
}
