import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// Endless runs of joins and leaves. They run in their own processes because other tests use the main actor.
@MainActor @Suite struct LongSeriesTests {
    /// A series is a chain whose links are not released recursively.
    @Test func aSeriesOfAHundredThousandIsForgotten() async {
        await #expect(processExitsWith: .success) { try await MainActor.run { try LongSeriesTests().forget() } }
    }

    private func forget() throws {
        let story = try Story()
        let script = BubbleScript()
        for number in 0..<100_000 {
            script.source.add(
                try Story.event(
                    "m.room.member", "$j\(number)", "@j\(number):s", #"{"membership":"join"}"#, Story.morning,
                    key: "@j\(number):s"), state: story.states.first, isOlder: true)
        }
        script.source.report()
        #expect(script.source.numberOfCells == 100_000)
        script.source.clear()
        #expect(script.source.numberOfCells == 0)
    }

    /// The cost of one more, or of a page, does not grow with the length of the series.
    @Test func aLongSeriesCostsNoMoreThanAShortOne() async {
        await #expect(processExitsWith: .success) {
            try await MainActor.run {
                for isOlder in [false, true] { try LongSeriesTests().compare(isOlder: isOlder) }
            }
        }
    }

    private func compare(isOlder: Bool) throws {
        let story = try Story()
        func time(_ count: Int) throws -> Duration {
            let script = BubbleScript()
            script.source.delegate = nil
            script.source.maxBackgroundCachedBubblesCount = .max
            let events = try (0..<count).map { number in
                try Story.event(
                    "m.room.member", "$j\(number)", "@j\(number):s", #"{"membership":"join"}"#, Story.morning,
                    key: "@j\(number):s")
            }
            return cpuTime {
                for event in events { script.source.add(event, state: story.states.first, isOlder: isOlder) }
                script.source.report()
            }
        }
        let (small, large) = (try time(1000), try time(8000))
        #expect(large < small * 24, "\(small), \(large)")
    }
}
