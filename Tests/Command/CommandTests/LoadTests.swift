import Basics
import Testing

@testable import CommandKit
@testable import PusherCommands

/// The parts of the load generator that need no network.
struct LoadTests {
    private let start = MonotonicInstant(nanoseconds: 1_000)

    @Test func theScheduleDoesNotDependOnWhatIsDone() {
        let schedule = SendSchedule(start: start, rate: 4)
        #expect(schedule.due(0) == start)
        #expect(schedule.due(1) == start + .milliseconds(250))
        #expect(schedule.due(8) == start + .seconds(2))
        #expect(schedule.count(in: .seconds(10)) == 40)
    }

    @Test func withoutARateEverythingIsDueAtOnce() async throws {
        let schedule = SendSchedule(start: start, rate: 0)
        #expect(schedule.due(7) == nil)
        #expect(schedule.count(in: .seconds(10)) == nil)
        try await schedule.wait(for: 1_000_000)
    }

    @Test(arguments: [64, 65, 1000])
    func aStampIsReadFromDataOfItsSize(size: Int) {
        let stamp = EventStamp(
            run: .max, sequence: 1 << 52, intended: MonotonicInstant(nanoseconds: .max))
        let data = stamp.data(size: size)
        #expect(data.utf8.count == size)
        #expect(EventStamp(data) == stamp)
    }

    @Test(arguments: [
        "", "x", "1 2 3", "1 2 x ", "-1 2 3 ", "1 -2 3 ", "1 2 -3 ", "4294967296 2 3 ", "1 9223372036854775807 3 ",
        "1 2 99999999999999999999 ", "{\"json\":1}", "  1 2 3 ",
    ])
    func otherDataHasNoStamp(data: String) {
        #expect(EventStamp(data) == nil)
    }

    @Test func arrivalsAreToldApart() {
        var arrivals = Arrivals()
        #expect(
            [0, 1, 4, 3, 4, 3, 5, 2, 2, 9].map { arrivals.note($0) } == [
                .inOrder, .inOrder, .inOrder, .late, .duplicate, .duplicate, .inOrder, .late, .duplicate, .inOrder,
            ])
    }

    @Test func gapsThatAreRememberedAreBounded() {
        var arrivals = Arrivals()
        for number in 0...Arrivals.maximumGaps { _ = arrivals.note(2 * number + 1) }  // 0, 2, 4 … are missing
        #expect(arrivals.note(0) == .duplicate)
        #expect(arrivals.note(2) == .late)
    }

    @Test func connectionsAreSpreadOverTheChannels() {
        let plan = LoadPlan(connections: 5, channelCount: 3, subscriptions: 2, channelPrefix: "private-x-")
        #expect(plan.channels == ["private-x-0", "private-x-1", "private-x-2"])
        #expect((0..<5).map(plan.channels(of:)) == [[0, 1], [2, 0], [1, 2], [0, 1], [2, 0]])
        #expect(plan.subscribers == [4, 3, 3])
    }

    @Test func whatArrivesAfterTheEndDoesNotChangeWhatWasPublishedInASecond() {
        var counts = LoadCounts()
        #expect(counts.publishing(at: start) == .zero)
        counts.began = start
        #expect(counts.elapsed(at: start + .seconds(3)) == .seconds(3))
        counts.ended = start + .seconds(4)
        counts.lastDelivery = start + .seconds(5)
        #expect(counts.publishing(at: start + .seconds(9)) == .seconds(4))
        #expect(counts.elapsed(at: start + .seconds(9)) == .seconds(5))
    }

    @Test func missingDeliveriesDecideTheStatus() {
        func status(isInterrupted: Bool = false, _ change: (inout LoadCounts) -> Void) -> CommandKit.ExitStatus {
            var counts = LoadCounts()
            counts.expected = 10
            counts.delivered = 10
            change(&counts)
            return LoadReport(plan: LoadPlan(), counts: counts, server: "", isInterrupted: isInterrupted).status
        }
        #expect(status { _ in } == .done)
        #expect(status { $0.delivered = 9 } == .timedOut)
        #expect(status { $0.unsent = 1 } == .timedOut)
        #expect(status { $0.failed = 1 } == .unavailable)
        #expect(status(isInterrupted: true) { $0.delivered = 9 } == .interrupted)
    }
}
