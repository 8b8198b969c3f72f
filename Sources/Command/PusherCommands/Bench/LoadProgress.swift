import Basics
import CommandKit

/// Reports the progress of a load test periodically: as JSON on standard output, or on a terminal.
struct LoadProgress: Sendable {
    let test: LoadTest
    let asJSON: Bool
    let interval: Duration

    /// Runs the work. Returns whether it was completed; false if the reader of the output is gone.
    func during(_ work: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await work()
                return true
            }
            group.addTask { try await tell() }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    /// Returns false if the reader is gone.
    private func tell() async throws -> Bool {
        let schedule = SendSchedule(start: .now + interval, rate: 1 / (interval / .seconds(1)))
        var index = 0
        while true {
            try await schedule.wait(for: index)
            index += 1
            let report = test.report()
            if asJSON {
                guard StandardOutput.write(json: report.progressJSON) else { return false }
            } else {
                StatusLine.show("\(report.progressText)")
            }
        }
    }
}
