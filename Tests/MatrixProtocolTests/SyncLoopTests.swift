import MatrixProtocol
import Realtime
import TestSupport
import Testing
import Transport

@Suite struct SyncLoopTests {
    private var loop: SyncLoop

    init() {
        loop = Self.make()
    }

    private static func make(hasSynced: Bool = true) -> SyncLoop {
        var configuration = SyncLoop.Configuration()
        configuration.connection.reconnectPolicy = .quadratic()
        return SyncLoop(configuration: configuration, state: .storeDataReady, hasSynced: hasSynced, seed: 1)
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
                .changed(from: .syncInProgress, to: .running), poll(2, .seconds(30)),
            ])
        #expect(!loop.isCatchingUp)
        #expect(loop.answered(2, now: .at(31)) == [poll(3, .seconds(30))])
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

    @Test mutating func anAnswerThatWasGivenUpCountsNoMore() {
        run()
        #expect(loop.answered(1, now: .at(2)) == [])
        #expect(loop.failed(1, .unreachable, now: .at(2)) == [])
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
                .changed(from: .homeserverNotReachable, to: .running), poll(5, .seconds(30)),
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
        #expect(loop.timePassed(now: silence) == [.cancelPoll, poll(3, .zero, fresh: true)])
        #expect(
            loop.timePassed(now: silence + .seconds(30)) == [
                .cancelPoll, .failed(.timedOut, retryAfter: .zero),
                .changed(from: .running, to: .homeserverNotReachable),
            ])
    }

    @Test mutating func whenTheNetworkIsLostThePollIsReplacedAtOnce() {
        run()
        #expect(
            loop.networkLost(now: .at(5)) == [.cancelPoll, poll(3, .zero, fresh: true)])
        #expect(loop.answered(3, now: .at(6)) == [poll(4, .seconds(30))])
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
        #expect(loop.answered(2, now: .at(3)) == [])
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
            loop.reconnect(now: .at(2)) == [
                .cancelPoll, .changed(from: .running, to: .syncInProgress), poll(3, .zero, fresh: true),
            ])
    }
}
