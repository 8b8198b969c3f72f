import TestSupport
import Testing

@testable import RelayProtocol

struct TermFilterTests {
    private let slot = Slot(of: "pusher:app:price")
    private let other = Slot(of: "pusher:app:other")

    /// Filters the messages in order, and returns the stale ones.
    private func stale(
        _ filter: inout TermFilter, _ messages: [(slot: Slot, term: Int, position: UInt64)]
    ) -> [UInt64] {
        var stale: [UInt64] = []
        for (slot, term, position) in messages
        where filter.isStale(slot, term: term, position: position, time: Int64(position)) {
            stale.append(position)
        }
        return stale
    }

    @Test func whatComesAfterAHigherTermIsStale() {
        var filter = TermFilter()
        let late = stale(
            &filter,
            [(slot, 1, 10), (slot, 1, 11), (slot, 2, 12), (slot, 1, 13), (other, 1, 14), (slot, 2, 15)])
        #expect(late == [13])
        #expect(filter.staleCount == 1)
    }

    @Test func whatStandsBeforeItIsNotHoweverLateItIsDelivered() {
        var filter = TermFilter()
        #expect(stale(&filter, [(slot, 2, 12), (slot, 1, 11), (slot, 1, 13)]) == [13])
    }

    @Test func aReaderThatStartsInTheMiddleKnowsTheLastFence() {
        var filter = TermFilter()
        let late = stale(
            &filter,
            [(slot, 5, 100), (slot, 3, 50), (slot, 4, 60), (slot, 3, 70), (slot, 4, 101), (slot, 5, 102)])
        // One after a fence within the range read, and one after the last fence.
        #expect(late == [70, 101])
    }

    @Test func itSaysWhatTheRuleSays() {
        for seed in 1...200 as ClosedRange<UInt64> {
            var random = XorShift(seed: seed)
            var filter = TermFilter()
            var seen: [(term: Int, position: UInt64)] = []
            for _ in 0..<60 {
                let term = Int.random(in: 1...6, using: &random)
                let position = UInt64.random(in: 1...200, using: &random)
                guard !seen.contains(where: { $0.position == position }) else { continue }
                let expected = seen.contains { $0.term > term && $0.position < position }
                let isStale = filter.isStale(slot, term: term, position: position, time: Int64(position))
                #expect(isStale == expected, "seed \(seed)")
                if !expected { seen.append((term, position)) }
            }
        }
    }

    /// Like the function above, with the second in which each message was stored.
    private func stale(
        _ filter: inout TermFilter, timed messages: [(term: Int, position: UInt64, second: Int64)]
    ) -> [UInt64] {
        var stale: [UInt64] = []
        for (term, position, second) in messages
        where filter.isStale(slot, term: term, position: position, time: second * 1_000_000_000) {
            stale.append(position)
        }
        return stale
    }

    @Test func aStreamThatWasMadeAnewBeginsWithItsOwnTerms() {
        var filter = TermFilter()
        let messages: [(Int, UInt64, Int64)] = [
            (7, 90, 0), (8, 100, 1), (1, 3, 60), (1, 4, 60), (2, 5, 61), (1, 120, 90),
        ]
        #expect(stale(&filter, timed: messages) == [120])
    }

    @Test func clocksOfServersThatDifferALittleAreNoNewStream() {
        var filter = TermFilter()
        #expect(stale(&filter, timed: [(8, 90, 60), (8, 100, 60), (7, 95, 69)]) == [95])
    }

    @Test func aNewStreamThatIsExpectedIsKnownAtOnce() {
        var filter = TermFilter()
        #expect(stale(&filter, timed: [(9, 4, 60), (9, 5, 60)]) == [])
        filter.expectNewStream()
        #expect(stale(&filter, timed: [(9, 4, 60), (1, 1, 61), (1, 6, 61), (1, 7, 61)]) == [])
        var same = TermFilter()
        #expect(stale(&same, timed: [(8, 4, 60), (9, 5, 60)]) == [])
        same.expectNewStream()
        #expect(stale(&same, timed: [(8, 4, 60), (9, 5, 60), (8, 6, 61)]) == [6])
    }

    @Test func anOldMessageThatIsDeliveredAgainIsNoNewStream() {
        var filter = TermFilter()
        let messages: [(Int, UInt64, Int64)] = [(7, 90, 0), (8, 95, 60), (8, 100, 120), (7, 90, 0), (7, 101, 120)]
        #expect(stale(&filter, timed: messages) == [101])
    }

    @Test func itsMemoryIsBounded() {
        var filter = TermFilter()
        #expect(stale(&filter, (1...1000).map { (slot, $0, UInt64($0)) }) == [])
        #expect(stale(&filter, [(slot, 999, 2000), (slot, 1000, 2001)]) == [2000])
    }
}
