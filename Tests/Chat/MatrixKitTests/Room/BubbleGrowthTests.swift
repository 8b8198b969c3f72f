import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// The cost of an event does not depend on the size of the room. Runs in its own process because other tests use the
/// main actor.
@MainActor @Suite struct BubbleGrowthTests {
    private func room(_ count: Int) throws -> BubbleScript {
        let script = BubbleScript()
        let state = try Story().states.first
        for number in 0..<count {
            script.source.add(
                try Story.event(
                    "m.room.message", "$\(number)", number % 2 == 0 ? "@b:s" : "@c:s", Story.text("hello"),
                    Story.morning + UInt64(number)), state: state, isOlder: false)
        }
        script.source.delegate = nil
        script.source.maxBackgroundCachedBubblesCount = .max
        script.source.report()
        return script
    }

    /// Seconds for a thousand events at one end, each reported at once.
    private func seconds(_ script: BubbleScript, isOlder: Bool) throws -> Double {
        let events = try (0..<1000).map { number in
            try Story.event(
                "m.room.message", "$new\(isOlder)\(number)", number % 2 == 0 ? "@a:s" : "@b:s", Story.text("hello"),
                Story.morning)
        }
        let start = ContinuousClock.now
        for event in events {
            script.source.add(event, state: nil, isOlder: isOlder)
            script.source.report()
        }
        return (ContinuousClock.now - start) / .seconds(1)
    }

    @Test func addingToAHundredThousandCostsWhatItCostsInAThousand() async {
        await #expect(processExitsWith: .success) {
            try await MainActor.run {
                for isOlder in [false, true] { try BubbleGrowthTests().compare(isOlder: isOlder) }
            }
        }
    }

    private func compare(isOlder: Bool) throws {
        let (small, large) = (try room(1000), try room(100_000))
        #expect(large.source.numberOfCells == 100_000)
        let (few, many) = (try seconds(small, isOlder: isOlder), try seconds(large, isOlder: isOlder))
        // The room is a hundred times as large; only the array of places may move.
        #expect(many < 12 * few, "\(few) s, \(many) s")
    }
}
