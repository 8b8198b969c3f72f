import Basics
import Realtime
import TestSupport
import Testing
import Transport

struct ConnectionMachineTests {
    typealias Action = ConnectionMachine.Action
    typealias ID = ConnectionMachine.TransportID

    // MARK: Normal operation

    @Test func connectsAndDisconnects() {
        var machine = ConnectionMachine.make()
        let first = ID.make(1)
        #expect(machine.connect(now: .at(0)) == [.changed(from: .disconnected, to: .connecting), .open(first)])
        #expect(machine.connectionState == .connecting)
        #expect(
            machine.established(first, activityTimeout: nil, now: .at(1)) == [
                .changed(from: .connecting, to: .connected)
            ])
        #expect(machine.disconnect() == [.changed(from: .connected, to: .disconnecting), .close(first)])
        #expect(
            machine.transportEnded(first, disposition: .backOff(atLeast: .zero), now: .at(2)) == [
                .changed(from: .disconnecting, to: .disconnected)
            ])
        #expect(machine.nextDeadline == nil)
    }

    @Test func reconnectsAfterALoss() {
        var machine = ConnectionMachine.makeConnected(policy: .quadratic())
        #expect(
            machine.transportEnded(.make(1), disposition: .backOff(atLeast: .zero), now: .at(5)) == [
                .failed(.transportEnded, next: .retry(after: .zero)), .changed(from: .connected, to: .reconnecting),
            ])
        #expect(machine.attempts == 1)
        #expect(machine.nextDeadline == .at(5))
        #expect(machine.timePassed(now: .at(5)) == [.changed(from: .reconnecting, to: .connecting), .open(.make(2))])
        #expect(
            machine.transportEnded(.make(2), disposition: .backOff(atLeast: .zero), now: .at(6)) == [
                .failed(.transportEnded, next: .retry(after: .seconds(1))),
                .changed(from: .connecting, to: .reconnecting),
            ])
        #expect(machine.timePassed(now: .at(6.5)) == [])
        #expect(machine.timePassed(now: .at(7)) == [.changed(from: .reconnecting, to: .connecting), .open(.make(3))])
        _ = machine.established(.make(3), activityTimeout: nil, now: .at(8))
        #expect(machine.attempts == 0)
    }

    // MARK: connect() and disconnect() in every state

    @Test func connectIsNothingWhenConnectingOrConnected() {
        var connecting = ConnectionMachine.make()
        _ = connecting.connect(now: .at(0))
        #expect(connecting.connect(now: .at(1)) == [])
        var connected = ConnectionMachine.makeConnected()
        #expect(connected.connect(now: .at(1)) == [])
    }

    @Test func connectWhileWaitingRetriesNowAndCountsAnew() {
        var machine = ConnectionMachine.makeWaiting()
        #expect(machine.connect(now: .at(6)) == [.changed(from: .reconnecting, to: .connecting), .open(.make(2))])
        #expect(machine.attempts == 0)
    }

    @Test func connectWhileDisconnectingDropsTheOldTransportFirst() {
        var machine = ConnectionMachine.makeConnected()
        _ = machine.disconnect()
        #expect(
            machine.connect(now: .at(2)) == [
                .drop(.make(1)), .changed(from: .disconnecting, to: .disconnected),
                .changed(from: .disconnected, to: .connecting), .open(.make(2)),
            ])
    }

    @Test func disconnectCancelsAnAttemptAndAPendingRetry() {
        var connecting = ConnectionMachine.make()
        _ = connecting.connect(now: .at(0))
        #expect(connecting.disconnect() == [.drop(.make(1)), .changed(from: .connecting, to: .disconnected)])
        #expect(connecting.nextDeadline == nil)
        var waiting = ConnectionMachine.makeWaiting()
        #expect(waiting.disconnect() == [.changed(from: .reconnecting, to: .disconnected)])
        #expect(waiting.nextDeadline == nil)
    }

    @Test func disconnectTwiceIsOnce() {
        var machine = ConnectionMachine.makeConnected()
        _ = machine.disconnect()
        #expect(machine.disconnect() == [])
        var atRest = ConnectionMachine.make()
        #expect(atRest.disconnect() == [])
    }

    @Test func shutDownDropsWhatIsThere() {
        var machine = ConnectionMachine.makeConnected()
        #expect(machine.shutDown() == [.drop(.make(1)), .changed(from: .connected, to: .disconnected)])
    }

    // MARK: Late reports

    @Test func reportsOfAnOldTransportAreIgnored() {
        var machine = ConnectionMachine.makeWaiting()
        _ = machine.timePassed(now: .at(1000))
        #expect(machine.transport == .make(2))
        #expect(machine.transportEnded(.make(1), disposition: .stop, now: .at(1001)) == [])
        #expect(machine.established(.make(1), activityTimeout: nil, now: .at(1001)) == [])
        #expect(machine.connectionState == .connecting)
    }

    @Test func aLateCloseAfterDisconnectMakesNoAttempt() {
        var machine = ConnectionMachine.makeConnected()
        _ = machine.disconnect()
        _ = machine.transportEnded(.make(1), disposition: .retryImmediately, now: .at(1))
        #expect(machine.transportEnded(.make(1), disposition: .retryImmediately, now: .at(2)) == [])
        #expect(machine.connectionState == .disconnected)
        #expect(machine.timePassed(now: .at(10_000)) == [])
    }

    // MARK: Timers

    @Test func connectTimeOutCoversTheWholeAttempt() {
        var machine = ConnectionMachine.make(policy: .quadratic())
        _ = machine.connect(now: .at(0))
        #expect(machine.timePassed(now: .at(14.9)) == [])
        #expect(
            machine.timePassed(now: .at(15)) == [
                .drop(.make(1)), .failed(.connectTimedOut, next: .retry(after: .zero)),
                .changed(from: .connecting, to: .reconnecting),
            ])
    }

    @Test(arguments: [(nil, 120), (30, 30), (500, 120), (0.5, 0.5)] as [(Double?, Double)])
    func silenceBeforeAPingIsTheSmallerOfBoth(server: Double?, expected: Double) {
        var machine = ConnectionMachine.make()
        _ = machine.connect(now: .at(0))
        _ = machine.established(.make(1), activityTimeout: server.map { .seconds($0) }, now: .at(0))
        #expect(machine.nextDeadline == .at(expected))
        #expect(machine.timePassed(now: .at(expected)) == [.ping(.make(1))])
    }

    @Test func anythingHeardPostponesThePing() {
        var machine = ConnectionMachine.makeConnected()
        machine.heard(.make(1), now: .at(100))
        #expect(machine.timePassed(now: .at(120)) == [])
        #expect(machine.timePassed(now: .at(220)) == [.ping(.make(1))])
        machine.heard(.make(1), now: .at(225))
        #expect(machine.timePassed(now: .at(251)) == [])
        #expect(machine.connectionState == .connected)
    }

    @Test func aMissingPongDropsTheSocketAndRetriesAtOnce() {
        var machine = ConnectionMachine.makeConnected()
        _ = machine.timePassed(now: .at(120))
        #expect(machine.timePassed(now: .at(149)) == [])
        #expect(
            machine.timePassed(now: .at(150)) == [
                .drop(.make(1)), .failed(.pongTimedOut, next: .retry(after: .zero)),
                .changed(from: .connected, to: .reconnecting),
            ])
        #expect(machine.timePassed(now: .at(150)) == [.changed(from: .reconnecting, to: .connecting), .open(.make(2))])
    }

    @Test func silenceIsNotHeldAgainstThePeerWhileNothingIsRead() {
        var machine = ConnectionMachine.makeConnected()
        machine.readingPaused(true, now: .at(100))
        #expect(machine.nextDeadline == nil)
        #expect(machine.timePassed(now: .at(10_000)) == [])
        machine.readingPaused(false, now: .at(10_000))
        #expect(machine.nextDeadline == .at(10_120))
    }

    // MARK: Consequences of the end of a transport

    @Test func refusalIsFinal() {
        var machine = ConnectionMachine.makeConnected()
        #expect(
            machine.transportEnded(.make(1), disposition: .stop, now: .at(1)) == [
                .failed(.transportEnded, next: .stop(.refused)), .changed(from: .connected, to: .disconnected),
            ])
    }

    @Test func withoutAutoReconnectALossIsFinal() {
        var configuration = ConnectionMachine.Configuration()
        configuration.autoReconnect = false
        var machine = ConnectionMachine(configuration: configuration, seed: 1)
        _ = machine.connect(now: .at(0))
        #expect(
            machine.transportEnded(.make(1), disposition: .retryImmediately, now: .at(1)) == [
                .failed(.transportEnded, next: .stop(.autoReconnectIsOff)),
                .changed(from: .connecting, to: .disconnected),
            ])
    }

    @Test func attemptsAreLimited() {
        var configuration = ConnectionMachine.Configuration()
        configuration.reconnectAttemptsMax = 2
        var machine = ConnectionMachine(configuration: configuration, seed: 1)
        _ = machine.connect(now: .at(0))
        for number in 1...2 {
            _ = machine.transportEnded(.make(number), disposition: .backOff(atLeast: .zero), now: .at(1))
            #expect(machine.connectionState == .reconnecting)
            _ = machine.timePassed(now: .at(1000))
        }
        #expect(
            machine.transportEnded(.make(3), disposition: .backOff(atLeast: .zero), now: .at(2000)) == [
                .failed(.transportEnded, next: .stop(.attemptsExhausted)),
                .changed(from: .connecting, to: .disconnected),
            ])
        #expect(machine.connect(now: .at(3000)).last == .open(.make(4)))
        #expect(machine.attempts == 0)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func overCapacityWaitsAtLeastASecond(seed: UInt64) throws {
        var machine = ConnectionMachine.make(seed: seed)
        _ = machine.connect(now: .at(0))
        _ = machine.transportEnded(.make(1), disposition: .backOff(atLeast: .seconds(1)), now: .at(1))
        #expect(try #require(machine.nextDeadline) >= .at(2))
    }

    @Test func twoRetriesAtOnceThenTheBackOff() {
        var machine = ConnectionMachine.make(policy: .quadratic())
        _ = machine.connect(now: .at(0))
        var delays: [ConnectionMachine.Next] = []
        for number in 1...4 {
            let actions = machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(1))
            if case .failed(_, let next)? = actions.first { delays.append(next) }
            _ = machine.timePassed(now: .at(1000))
        }
        #expect(
            delays == [
                .retry(after: .zero), .retry(after: .zero), .retry(after: .seconds(4)), .retry(after: .seconds(9)),
            ])
    }

    @Test func aServerThatAcceptsAndThrowsOutIsNotHammered() {
        var machine = ConnectionMachine.make(policy: .exponential(base: .seconds(1)), seed: 7)
        _ = machine.connect(now: .at(0))
        var waits: [Duration] = []
        for number in 1...4 {
            _ = machine.established(.make(number), activityTimeout: nil, now: .at(1))
            let actions = machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(2))
            if case .failed(_, .retry(let wait))? = actions.first { waits.append(wait) }
            _ = machine.timePassed(now: .at(1000))
        }
        #expect(waits.prefix(2) == [.zero, .zero])
        #expect(waits.dropFirst(2).allSatisfy { $0 > .zero })
    }

    @Test func aStableConnectionRestoresTheRetriesAtOnce() {
        var machine = ConnectionMachine.make(policy: .quadratic())
        _ = machine.connect(now: .at(0))
        for number in 1...5 {
            let start = Double(number) * 100
            _ = machine.established(.make(number), activityTimeout: nil, now: .at(start))
            let actions = machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(start + 20))
            #expect(actions.first == .failed(.transportEnded, next: .retry(after: .zero)))
            _ = machine.timePassed(now: .at(start + 20))
        }
    }

    /// Each connection draws its own time after which it counts as a success.
    @Test(arguments: [(9.9, [false]), (15, [true, false]), (20, [true])] as [(Double, Set<Bool>)])
    func aConnectionCountsAsASuccessAfterTenToTwentySeconds(life: Double, isSuccess: Set<Bool>) {
        var seen: Set<Bool> = []
        for seed in 1...50 as ClosedRange<UInt64> {
            var machine = ConnectionMachine.make(policy: .quadratic(), seed: seed)
            _ = machine.connect(now: .at(0))
            for number in 1...3 {
                _ = machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(0))
                _ = machine.timePassed(now: .at(100))
            }
            _ = machine.established(.make(4), activityTimeout: nil, now: .at(100))
            let actions = machine.transportEnded(.make(4), disposition: .retryImmediately, now: .at(100 + life))
            switch actions.first {
            case .failed(.transportEnded, next: .retry(after: .zero)): seen.insert(true)
            case .failed(.transportEnded, next: .retry(after: .seconds(9))): seen.insert(false)
            default: Issue.record("\(actions)")
            }
        }
        #expect(seen == isSuccess)
    }

    /// Greeted each time and disconnected a second later, for any reason.
    @Test(
        arguments: [
            (.backOff(atLeast: .zero), [0, 1, 4, 9, 16, 25]), (.backOff(atLeast: .seconds(1)), [1, 1, 4, 9, 16, 25]),
            (.retryImmediately, [0, 0, 4, 9, 16, 25]),
        ] as [(ConnectionMachine.Disposition, [Int])])
    func aGreetingAloneDoesNotEndTheBackOff(disposition: ConnectionMachine.Disposition, seconds: [Int]) {
        var machine = ConnectionMachine.make(policy: .quadratic())
        _ = machine.connect(now: .at(0))
        var waits: [Duration] = []
        var now = 0.0
        for number in 1...seconds.count {
            _ = machine.established(.make(number), activityTimeout: nil, now: .at(now))
            now += 1
            let actions = machine.transportEnded(.make(number), disposition: disposition, now: .at(now))
            guard case .failed(.transportEnded, .retry(let wait))? = actions.first else { break }
            waits.append(wait)
            now += wait / .seconds(1)
            _ = machine.timePassed(now: .at(now))
        }
        #expect(waits == seconds.map { .seconds($0) })
    }

    @Test func aGreetingAloneDoesNotRestoreTheAttempts() {
        var configuration = ConnectionMachine.Configuration()
        configuration.reconnectAttemptsMax = 2
        var machine = ConnectionMachine(configuration: configuration, seed: 1)
        _ = machine.connect(now: .at(0))
        for number in 1...3 {
            _ = machine.established(.make(number), activityTimeout: nil, now: .at(Double(number) * 100))
            #expect(machine.attempts == 0)
            let end = MonotonicInstant.at(Double(number) * 100 + 1)
            let actions = machine.transportEnded(.make(number), disposition: .backOff(atLeast: .zero), now: end)
            #expect(actions.contains(.failed(.transportEnded, next: .stop(.attemptsExhausted))) == (number == 3))
            _ = machine.timePassed(now: .at(Double(number) * 100 + 99))
        }
    }

    /// The network comes and goes, each time with a greeting.
    @Test func greetingsDoNotRestoreTheRetriesOfAReturnedNetwork() {
        var machine = ConnectionMachine.makeWaiting()
        for number in 2...3 {
            let now = MonotonicInstant.at(Double(number) * 5)
            #expect(machine.networkReturned(now: now).last == .open(.make(number)))
            _ = machine.established(.make(number), activityTimeout: nil, now: now)
            _ = machine.transportEnded(
                .make(number), disposition: .backOff(atLeast: .seconds(60)), now: now + .seconds(1))
        }
        #expect(machine.networkReturned(now: .at(17)) == [])
    }

    @Test func connectingByHandRestoresTheRetriesAtOnce() {
        var machine = ConnectionMachine.make(policy: .quadratic())
        _ = machine.connect(now: .at(0))
        for number in 1...2 {
            _ = machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(0))
            _ = machine.timePassed(now: .at(0))
        }
        _ = machine.disconnect()
        _ = machine.connect(now: .at(1))
        #expect(machine.attempts == 0)
        // The second attempt is distinguishable: n² seconds are zero for the first.
        for number in 4...5 {
            #expect(
                machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(1)).first
                    == .failed(.transportEnded, next: .retry(after: .zero)))
            #expect(machine.transportEnded(.make(number), disposition: .retryImmediately, now: .at(1)) == [])
            _ = machine.timePassed(now: .at(1))
        }
    }

    @Test func aTransportThatIsUselessIsDropped() {
        var machine = ConnectionMachine.makeConnected()
        #expect(
            machine.transportEnded(.make(1), isAlive: true, disposition: .stop, now: .at(1)) == [
                .drop(.make(1)), .failed(.transportEnded, next: .stop(.refused)),
                .changed(from: .connected, to: .disconnected),
            ])
        var closing = ConnectionMachine.makeConnected()
        _ = closing.disconnect()
        #expect(
            closing.transportEnded(.make(1), isAlive: true, disposition: .stop, now: .at(1)) == [
                .drop(.make(1)), .changed(from: .disconnecting, to: .disconnected),
            ])
    }

    /// A pause reported twice counts once: it does not give the peer more time.
    @Test func aPauseIsToldOnce() {
        var machine = ConnectionMachine.makeConnected()
        machine.readingPaused(false, now: .at(100))
        #expect(machine.nextDeadline == .at(120))
        _ = machine.timePassed(now: .at(120))
        machine.readingPaused(true, now: .at(125))
        machine.readingPaused(false, now: .at(126))
        #expect(machine.nextDeadline == .at(246))
    }

    @Test func onlyTheLiveTransportIsReceivedFrom() {
        var machine = ConnectionMachine.make()
        #expect(!machine.isReceiving(from: .make(1)))
        _ = machine.connect(now: .at(0))
        #expect(machine.isReceiving(from: .make(1)) && !machine.isReceiving(from: .make(2)))
        _ = machine.established(.make(1), activityTimeout: nil, now: .at(0))
        #expect(machine.isReceiving(from: .make(1)) && !machine.isReceiving(from: .make(2)))
        _ = machine.disconnect()
        #expect(!machine.isReceiving(from: .make(1)))
        #expect(machine.transport == .make(1))
    }

    // MARK: Network

    @Test func aLostNetworkPingsAtOnceAndOnce() {
        var machine = ConnectionMachine.makeConnected()
        #expect(machine.networkLost(now: .at(10)) == [.ping(.make(1))])
        #expect(machine.networkLost(now: .at(11)) == [])
        #expect(machine.nextDeadline == .at(40))
    }

    @Test func aReturnedNetworkRetriesAtOnceAtMostTwiceInARow() {
        var machine = ConnectionMachine.makeWaiting()
        #expect(
            machine.networkReturned(now: .at(6)) == [.changed(from: .reconnecting, to: .connecting), .open(.make(2))])
        #expect(machine.networkReturned(now: .at(7)) == [.drop(.make(2)), .open(.make(3))])
        #expect(machine.networkReturned(now: .at(8)) == [])
        #expect(machine.transport == .make(3))
    }

    @Test func networkNewsMeanNothingAtRest() {
        var machine = ConnectionMachine.make()
        #expect(machine.networkLost(now: .at(0)) == [])
        #expect(machine.networkReturned(now: .at(0)) == [])
    }

    // MARK: Any order

    /// In any order of events, steps follow each other, and there is never a second transport.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func anySequenceKeepsOneTransportAndLegalSteps(seed: UInt64) {
        var random = JitterGenerator(seed: seed)
        var machine = ConnectionMachine.make(seed: seed)
        var open: Set<ID> = []
        var state = ConnectionState.disconnected
        var now = MonotonicInstant.start
        for _ in 0..<300 {
            now = now + .milliseconds(Int.random(in: 0...40_000, using: &random))
            let id = ID.make(Int.random(in: 1...30, using: &random))
            let target = Bool.random(using: &random) ? machine.transport ?? id : id
            let actions: [Action]
            switch Int.random(in: 0...8, using: &random) {
            case 0: actions = machine.connect(now: now)
            case 1: actions = machine.disconnect()
            case 2: actions = machine.established(target, activityTimeout: .seconds(5), now: now)
            case 3:
                actions = machine.transportEnded(target, disposition: .backOff(atLeast: .seconds(1)), now: now)
                open.remove(target)
            case 4:
                actions = machine.transportEnded(target, disposition: .retryImmediately, now: now)
                open.remove(target)
            case 5: actions = machine.networkReturned(now: now)
            case 6: actions = machine.networkLost(now: now)
            default: actions = machine.timePassed(now: now)
            }
            for action in actions {
                switch action {
                case .open(let id): open.insert(id)
                case .drop(let id): open.remove(id)
                case .changed(let from, let to):
                    #expect(from == state && from != to)
                    state = to
                case .close, .ping, .failed: break
                }
                #expect(open.count <= 1)
            }
            #expect(state == machine.connectionState)
            #expect(open.first == machine.transport)
        }
    }
}

struct ReconnectPolicyTests {
    @Test(arguments: [(-1, 1), (0, 1), (1, 2), (3, 8), (6, 64), (7, 120), (64, 120)] as [(Int, Int)])
    func exponentialGrowthIsCapped(attempt: Int, seconds: Int) {
        #expect(ReconnectPolicy.exponential().longestDelay(attempt: attempt) == .seconds(seconds))
    }

    @Test(arguments: [(0, 0), (1, 1), (2, 4), (10, 100), (11, 120), (1_000_000, 120)] as [(Int, Int)])
    func quadraticDelaysAreExact(attempt: Int, seconds: Int) {
        var random = JitterGenerator(seed: 3)
        #expect(ReconnectPolicy.quadratic().delay(attempt: attempt, using: &random) == .seconds(seconds))
    }

    @Test func fullJitterSpreadsOverTheWholeInterval() {
        var random = JitterGenerator(seed: 3)
        let delays = (0..<1000).map { _ in ReconnectPolicy.exponential().delay(attempt: 3, using: &random) }
        #expect(delays.allSatisfy { $0 >= .zero && $0 <= .seconds(8) })
        #expect(delays.contains { $0 < .seconds(1) } && delays.contains { $0 > .seconds(7) })
    }
}

struct JitterGeneratorTests {
    /// The outputs of the published reference code of SplitMix64.
    @Test func itIsSplitMix64() {
        var random = JitterGenerator(seed: 1_234_567)
        #expect(
            (0..<3).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            ])
    }
}

struct ConnectionStateTests {
    @Test func eachStateHasItsNumberAndName() {
        #expect(ConnectionState.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(
            ConnectionState.allCases.map { $0.stringValue() } == [
                "connecting", "connected", "disconnecting", "disconnected", "reconnecting",
            ])
    }
}

extension ConnectionMachine.TransportID {
    static func make(_ number: Int) -> Self { Self(number: number) }
}

extension ConnectionMachine {
    static func make(policy: ReconnectPolicy = .exponential(), seed: UInt64 = 1) -> ConnectionMachine {
        var configuration = Configuration()
        configuration.reconnectPolicy = policy
        return ConnectionMachine(configuration: configuration, seed: seed)
    }

    /// Connected since the start over transport 1.
    static func makeConnected(policy: ReconnectPolicy = .exponential()) -> ConnectionMachine {
        var machine = make(policy: policy)
        _ = machine.connect(now: .at(0))
        _ = machine.established(.make(1), activityTimeout: nil, now: .at(0))
        return machine
    }

    /// Waiting, after losing transport 1 at five seconds.
    static func makeWaiting() -> ConnectionMachine {
        var machine = makeConnected()
        _ = machine.transportEnded(.make(1), disposition: .backOff(atLeast: .seconds(60)), now: .at(5))
        return machine
    }
}
