import Basics
import Testing

@testable import RelayProtocol

struct PullMachineTests {
    private func at(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
    }

    private func request(_ number: Int, _ batch: Int, _ bytes: Int = PullMachine.windowBytes) -> PullMachine.Action {
        .request(PullMachine.Request(number: number, batch: batch, bytes: bytes))
    }

    /// Returns a machine that has requested a whole window.
    private func makeReading() -> PullMachine {
        var machine = PullMachine()
        machine.connected(now: at(0))
        _ = machine.takeActions()
        machine.prepared(1, now: at(0))
        _ = machine.takeActions()
        return machine
    }

    @Test func theConsumerComesBeforeTheFirstRequest() {
        var machine = PullMachine()
        machine.connected(now: at(0))
        var actions = machine.takeActions()
        #expect(actions == [.prepare(1)])
        machine.prepared(1, now: at(1))
        actions = machine.takeActions()
        #expect(actions == [request(1, 256)])
    }

    @Test func aSlowReaderIsNotSentMore() {
        var machine = makeReading()
        for _ in 0..<256 { machine.delivered(bytes: 10, now: at(1)) }
        var actions = machine.takeActions()
        #expect(actions.isEmpty && machine.nextDeadline == nil)
        machine.taken(127, bytes: 1270, now: at(2))
        actions = machine.takeActions()
        #expect(actions.isEmpty)
        machine.taken(1, bytes: 10, now: at(3))
        actions = machine.takeActions()
        #expect(actions == [request(2, 128, PullMachine.windowBytes - 1280)])
    }

    @Test func aSmallWindowIsAskedForOneByOne() {
        var machine = PullMachine(window: 1)
        machine.connected(now: at(0))
        machine.prepared(1, now: at(0))
        var actions = machine.takeActions()
        #expect(actions.last == request(1, 1))
        machine.delivered(bytes: 1, now: at(1))
        actions = machine.takeActions()
        #expect(actions.isEmpty)
        machine.taken(1, bytes: 1, now: at(2))
        actions = machine.takeActions()
        #expect(actions == [request(2, 1)])
    }

    @Test func bytesFillTheWindowToo() {
        var machine = makeReading()
        for _ in 0..<3 { machine.delivered(bytes: 1 << 20, now: at(1)) }
        machine.answered(1, status: 409, now: at(2))
        var actions = machine.takeActions()
        #expect(actions.isEmpty)
        machine.taken(1, bytes: 1 << 20, now: at(3))
        actions = machine.takeActions()
        #expect(actions == [request(2, 254, 2 << 20)])
    }

    @Test(arguments: [404, 408])
    func anEndOfARequestBringsTheNext(status: Int) {
        var machine = makeReading()
        machine.answered(1, status: status, now: at(5000))
        let actions = machine.takeActions()
        #expect(actions == [request(2, 256)])
        machine.answered(1, status: 503, now: at(5001))  // late, for a request that is over
        let more = machine.takeActions()
        #expect(more.isEmpty)
    }

    @Test func heartbeatsKeepItWaitingAndSilenceDoesNot() {
        var machine = makeReading()
        machine.answered(1, status: 100, now: at(2000))
        machine.timePassed(now: at(4499))
        var actions = machine.takeActions()
        #expect(actions.isEmpty && machine.nextDeadline == at(4500))
        machine.timePassed(now: at(4500))
        actions = machine.takeActions()
        #expect(actions == [.prepare(2)])
    }

    @Test(arguments: [409, 503])
    func aConsumerWithoutALeaderIsLookedForAgainAndAgain(status: Int) {
        var machine = makeReading()
        machine.answered(1, status: status, now: at(0))
        var (now, attempt): (Int64, Int) = (0, 1)
        for wait in [100, 200, 400, 800, 1600, 2000, 2000] as [Int64] {
            var actions = machine.takeActions()
            #expect(actions.isEmpty && machine.nextDeadline == at(now + wait))
            now += wait
            machine.timePassed(now: at(now))
            actions = machine.takeActions()
            attempt += 1
            #expect(actions == [.prepare(attempt)])
            machine.preparationFailed(attempt, mayRetry: true, now: at(now))
        }
        machine.timePassed(now: at(now + 2000))
        _ = machine.takeActions()
        machine.prepared(attempt + 1, now: at(now + 2001))
        let actions = machine.takeActions()
        #expect(actions == [request(2, 256)])
    }

    @Test func aLostConnectionIsWaitedFor() {
        var machine = makeReading()
        machine.delivered(bytes: 1, now: at(1))
        machine.disconnected(now: at(2))
        #expect(machine.nextDeadline == nil)
        machine.taken(1, bytes: 1, now: at(3))
        machine.prepared(1, now: at(3))
        var actions = machine.takeActions()
        #expect(actions.isEmpty)
        machine.connected(now: at(4))
        actions = machine.takeActions()
        #expect(actions == [.prepare(2)])
        // The answer to the previous attempt.
        machine.prepared(1, now: at(5))
        actions = machine.takeActions()
        #expect(actions.isEmpty)
    }

    @Test func aHeldReaderAsksForNothing() {
        var machine = makeReading()
        machine.hold(true, now: at(1))
        machine.answered(1, status: 408, now: at(5000))
        var actions = machine.takeActions()
        #expect(actions.isEmpty)
        machine.hold(false, now: at(6000))
        actions = machine.takeActions()
        #expect(actions == [request(2, 256)])
    }

    @Test func whatCannotBeReadIsNotTriedAgain() {
        var machine = PullMachine()
        machine.connected(now: at(0))
        _ = machine.takeActions()
        machine.preparationFailed(1, mayRetry: false, now: at(1))
        machine.connected(now: at(2))
        let actions = machine.takeActions()
        #expect(actions.isEmpty && machine.nextDeadline == nil)
    }

    @Test func theSubjectOfAnAckSaysWhatWasDelivered() throws {
        let plain = try #require(DeliveryInfo(ackSubject: "$JS.ACK.EVENTS.md.3.432696.7.1700000000000000000.5"))
        #expect(plain.stream == "EVENTS" && plain.consumer == "md" && plain.deliveries == 3)
        #expect(plain.streamSequence == 432696 && plain.consumerSequence == 7 && plain.pending == 5)
        #expect(DeliveryInfo(ackSubject: "$JS.ACK.hub.h4sh.EVENTS.md.3.432696.7.1700000000000000000.5.r4nd") == plain)
        #expect(DeliveryInfo(ackSubject: "$JS.ACK.EVENTS.md.x.1.1.1.1") == nil)
        #expect(DeliveryInfo(ackSubject: "_INBOX.a") == nil)
    }
}
