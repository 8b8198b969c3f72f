import Basics
import Transport

/// Reports the progress of a transfer, at a limited rate.
@NetworkActor
final class ProgressReport {
    private let report: @Sendable (HTTPProgress) -> Void
    private var progress = HTTPProgress()
    private var reported: HTTPProgress?
    private var nextReport = MonotonicInstant.now

    private static let interval = Duration.milliseconds(100)

    init(_ report: @escaping @Sendable (HTTPProgress) -> Void) {
        self.report = report
    }

    func toSend(_ total: Int64) {
        progress.totalToSend = total
    }

    func sent(_ count: Int64) {
        progress.sent = count
        tell(isLast: count == progress.totalToSend)
    }

    /// - Parameters:
    ///   - total: The answer's `Content-Length`.
    ///   - start: The position of the response in the whole file.
    func received(_ count: Int, of total: String?, after start: Int64) {
        progress.received += Int64(count)
        progress.receivedBefore = start
        progress.totalToReceive = total.flatMap { Int64($0) }
        tell(isLast: progress.received == progress.totalToReceive)
    }

    func finish() {
        tell(isLast: true)
    }

    private func tell(isLast: Bool) {
        let now = MonotonicInstant.now
        guard reported != progress, isLast || now >= nextReport else { return }
        reported = progress
        nextReport = now + Self.interval
        report(progress)
    }
}
