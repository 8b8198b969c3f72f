import Testing

@testable import Basics

struct MonotonicInstantTests {
    @Test func arithmeticSaturates() {
        let late = MonotonicInstant(nanoseconds: .max - 1)
        #expect((late + .seconds(1)).nanoseconds == .max)
        #expect((late + .seconds(Int64.max)).nanoseconds == .max)
        #expect((MonotonicInstant(nanoseconds: .min + 1) + .seconds(-1)).nanoseconds == .min)
        #expect(
            (MonotonicInstant(nanoseconds: 5) + .nanoseconds(7)) - MonotonicInstant(nanoseconds: 2) == .nanoseconds(10))
    }

    /// 292 years are 9,223,372,036 seconds and a fraction.
    @Test(
        arguments: [
            (.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1), (.milliseconds(1500), 1_500_000_000),
            (.seconds(9_223_372_036) + .nanoseconds(854_775_807), .max),
            (.seconds(9_223_372_036) + .nanoseconds(854_775_806), .max - 1),
            (.seconds(9_223_372_036) + .nanoseconds(854_775_808), .max), (.seconds(9_223_372_037), .max),
            (.seconds(-9_223_372_036) - .nanoseconds(854_775_807), .min + 1),
            (.seconds(-9_223_372_036) - .nanoseconds(854_775_809), .min), (.seconds(-9_223_372_037), .min),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        ] as [(Duration, Int64)])
    func durationsSaturateAt292Years(duration: Duration, nanoseconds: Int64) {
        #expect(duration.wholeNanoseconds == nanoseconds)
    }
}
