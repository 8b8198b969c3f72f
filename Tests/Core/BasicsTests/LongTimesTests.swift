import Basics
import Testing

/// Durations of any length are accepted; none ends the process.
struct LongTimesTests {
    @Test(arguments: [
        (Duration.seconds(1e20), Int64.max), (.seconds(-1e20), .min), (.seconds(Int64.max), .max),
        (.seconds(Int64.min), .min), (.seconds(9_223_372_036), 9_223_372_036_000_000_000), (.nanoseconds(1), 1),
        (.nanoseconds(-1), -1), (.zero, 0),
    ])
    func nanosecondsEndAtTheirLimits(duration: Duration, nanoseconds: Int64) {
        #expect(duration.wholeNanoseconds == nanoseconds)
        #expect(MonotonicInstant(nanoseconds: 0) + duration == MonotonicInstant(nanoseconds: nanoseconds))
    }
}

struct DurationBoundsTests {
    @Test(
        arguments: [
            (Double.infinity, Duration.never), (1e300, .never), (1e20, .never), (3_155_760_000, .never),
            (3_155_760_000.5, .never),
            (3_155_759_999, .seconds(3_155_759_999)), (0.25, .milliseconds(250)), (0, .zero), (-0.0, .zero),
            (-1, .zero),
            (-.infinity, .zero), (.leastNonzeroMagnitude, .zero), (.nan, nil), (.signalingNaN, nil),
        ] as [(Double, Duration?)])
    func anyNumberOfSecondsIsATime(seconds: Double, duration: Duration?) {
        #expect(Duration.bounded(seconds: seconds) == duration)
    }

    @Test(arguments: [(Int.max, Duration.never), (.min, .zero), (-1, .zero), (7, .seconds(7))])
    func anyWholeNumberIsATime(seconds: Int, duration: Duration) {
        #expect(Duration.bounded(seconds: seconds) == duration)
    }

    @Test(arguments: [
        (Duration.seconds(1e20), Duration.never), (.seconds(-1e20), .zero), (.zero, .zero), (.never, .never),
        (.nanoseconds(1), .nanoseconds(1)), (.nanoseconds(-1), .zero),
    ])
    func anyTimeHasBounds(given: Duration, bounded: Duration) {
        #expect(given.bounded == bounded)
    }

    @Test func neverIsInfinity() {
        #expect(Duration.never.inSeconds == .infinity)
        #expect(Duration.seconds(1e20).inSeconds == .infinity)
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
    }

    @Test func arithmeticWithNeverDoesNotOverflow() {
        let sum = (0..<1000).reduce(Duration.zero) { sum, _ in sum + .never }
        #expect(sum == .never * 1000)
        #expect((Duration.never * (1 << 30)).wholeNanoseconds == .max)
        #expect(Duration.never.wholeNanoseconds == 3_155_760_000_000_000_000)
    }

    @Test(arguments: [
        (Double.infinity, Int64.max), (-.infinity, .min), (.nan, 0), (1e300, .max), (-1e300, .min), (1.9, 1),
        (-1.1, -2),
        (9_223_372_036_854_775_808, .max), (-9_223_372_036_854_775_808, .min),
    ])
    func anyNumberIsAWholeOne(number: Double, whole: Int64) {
        #expect(number.clampedToInt64 == whole)
    }
}
