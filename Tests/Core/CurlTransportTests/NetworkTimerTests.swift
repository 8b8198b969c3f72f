import Basics
import CurlTransport
import TestSupport
import Testing

@Suite(.overSockets)
struct NetworkTimerTests {
    /// A few timers of other tests come and go meanwhile.
    @Test func aTimerThatIsSetAgainAndAgainIsOne_andNoneOnceItIsCancelledOrGone() async {
        let before = await NetworkTimer.countOfSet
        let kept = await Self.setOften(times: 10_000, thenCancel: false)
        #expect(await NetworkTimer.countOfSet < before + 1_000)
        for isCancelled in [true, false] {
            for _ in 0..<5_000 { _ = await Self.setOften(times: 1, thenCancel: isCancelled) }
        }
        #expect(await eventually { await NetworkTimer.countOfSet < before + 1_000 })
        withExtendedLifetime(kept) {}
    }

    @NetworkActor
    private static func setOften(times: Int, thenCancel: Bool) -> NetworkTimer {
        let timer = NetworkTimer {}
        for _ in 0..<times { timer.set(.now + .seconds(Int(Int32.max))) }
        if thenCancel { timer.set(nil) }
        return timer
    }

    @Test func timersFireInTheOrderOfTheirDeadlines_howeverOftenTheyWereSet() async {
        let fired = Lock<[Int]>([])
        let timers = await Self.shuffled { number in fired.withLock { $0.append(number) } }
        #expect(await eventually { fired.withLock { $0.count } >= 100 })
        // A timer after the last: cancelled ones would have fired before it.
        #expect(await eventually { fired.withLock { $0.last } == 200 })
        #expect(fired.withLock { $0 } == (1...200).filter { $0.isMultiple(of: 2) })
        withExtendedLifetime(timers) {}
    }

    /// Timers with odd numbers are cancelled.
    @NetworkActor
    private static func shuffled(_ onFire: @escaping @Sendable (Int) -> Void) -> [NetworkTimer] {
        var generator = SystemRandomNumberGenerator()
        let start = MonotonicInstant.now + .milliseconds(50)
        var timers: [(number: Int, timer: NetworkTimer)] = (1...200).map { number in
            (number, NetworkTimer { onFire(number) })
        }
        timers.shuffle()
        for _ in 0..<3 {
            for (_, timer) in timers { timer.set(start + .microseconds(Int.random(in: 0..<1_000, using: &generator))) }
        }
        for (number, timer) in timers.shuffled() {
            timer.set(number.isMultiple(of: 2) ? start + .microseconds(number) : nil)
        }
        return timers.map(\.timer)
    }

    @Test func aTimerMaySetItselfWhenItFires() async {
        let count = Lock(0)
        let timer = await Self.repeating { count.withLock { $0 += 1 } }
        #expect(await eventually { count.withLock { $0 } == 5 })
        withExtendedLifetime(timer) {}
    }

    @NetworkActor
    private static func repeating(_ onFire: @escaping @Sendable () -> Void) -> Box {
        let box = Box()
        var left = 5
        box.timer = NetworkTimer { [weak box] in
            onFire()
            left -= 1
            if left > 0 { box?.timer?.set(.now) }
        }
        box.timer?.set(.now)
        return box
    }

    @NetworkActor
    private final class Box {
        var timer: NetworkTimer?
    }
}
