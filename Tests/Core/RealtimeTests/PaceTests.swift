import Basics
import Realtime
import TestSupport
import Testing

struct PaceTests {
    @Test func soManyComeAtOnce_thenOneEachInterval() {
        var pace = Pace(interval: .seconds(2), burst: 3)
        #expect((1...3).map { _ in pace.done(now: .at(0)) } == [nil, nil, nil])
        #expect(pace.done(now: .at(0)) == .at(2))
        #expect(pace.done(now: .at(2)) == .at(4))
        // After twice the wait, two are allowed.
        #expect(pace.done(now: .at(6)) == nil)
        #expect(pace.done(now: .at(6)) == .at(8))
    }

    @Test func afterALongRestAsManyComeAtOnceAgain_butNotMore() {
        var pace = Pace(interval: .seconds(2), burst: 3)
        #expect((1...4).compactMap { _ in pace.done(now: .at(0)) }.count == 1)
        #expect((1...4).map { _ in pace.done(now: .at(1000)) } == [nil, nil, nil, .at(1002)])
    }
}
