import Basics
import CommandKit
import PusherHTTP

/// Publishes each line of standard input as an event, through the HTTP API.
///
/// Only one request is pending at a time, to keep lines in order. Lines that arrive meanwhile are sent with the next
/// one, up to the size of a batch. No line waits for others.
struct LinePublisher: Sendable {
    private struct Line {
        let number: Int
        let text: String
    }

    private enum Outcome {
        case published
        /// A batch is refused if one of its events is.
        case refused(PusherHTTPError)
        /// The events may or may not be published.
        case uncertain(PusherHTTPError)
        /// No other line would succeed.
        case hopeless(PusherHTTPError)
        /// The lines were not published, and will not be, because of a stop.
        case stopped
    }

    let api: HTTPAPI
    let channels: [String]
    let event: String
    var socketID: String?
    /// The number of lines per second; `nil` is as fast as possible.
    var rate: Double?
    /// The time limit for reaching the server.
    var patience: Duration

    static let maximumChannels = PusherHTTPClient.maximumBatch

    private var linesOfABatch: Int {
        let most = max(PusherHTTPClient.maximumBatch / max(channels.count, 1), 1)
        // At most the lines of 50 ms.
        return rate.map { max(1, min(most, Int(min($0, 1000) / 20))) } ?? most
    }

    /// Publishes lines until the end of the input or Ctrl-C, which completes the pending request.
    ///
    /// - Throws: If not everything was published. The lines and reasons have then been written to standard error.
    func run() async throws {
        let source = LineSource(
            readAhead: 2 * PusherHTTPClient.maximumBatch, maximumLength: api.client.maximumDataSize)
        try await SignalWatch.stopping(source.stop) { try await publishLines(of: source) }
    }

    private func publishLines(of source: LineSource) async throws {
        var tally = LineTally(deed: "published")
        var pace = Pace(rate: rate)
        var goesOn = true
        while goesOn {
            try? await source.untilStopped { [pace] in try await pace.wait() }
            let lines = try await source.next(atMost: linesOfABatch)
            if lines.isEmpty { break }
            pace.passed(lines.count)
            var batch: [Line] = []
            for line in lines {
                switch line.text {
                case .success(let text): batch.append(Line(number: line.number, text: text))
                case .failure(let failure): tally.refused(line.number, by: failure)
                }
            }
            goesOn = await publish(batch, of: source, &tally)
        }
        try tally.conclude(await source.rest())
    }

    /// - Returns: Whether to continue publishing.
    private func publish(_ lines: [Line], of source: LineSource, _ tally: inout LineTally) async -> Bool {
        guard let first = lines.first, let last = lines.last else { return true }
        switch await outcome(of: lines, from: source) {
        case .published: tally.succeeded(first.number...last.number, count: lines.count)
        case .refused(let error):
            guard lines.count > 1 else {
                tally.refused(first.number, by: error)
                return true
            }
            for (index, line) in lines.enumerated() {
                guard await publish([line], of: source, &tally) else {
                    tally.leftOut(lines.count - index - 1)
                    return false
                }
            }
        case .uncertain(let error): tally.uncertain(first.number...last.number, count: lines.count, by: error)
        case .hopeless(let error):
            tally.gaveUp(first.number, count: lines.count, by: error)
            return false
        case .stopped: tally.leftOut(lines.count)
        }
        return true
    }

    /// Sends a batch, retrying while it is certain that the server does not have it.
    private func outcome(of lines: [Line], from source: LineSource) async -> Outcome {
        let events = lines.flatMap { line in
            channels.map {
                PusherHTTPClient.BatchEvent(channel: $0, event: event, data: line.text, socketID: socketID)
            }
        }
        let end = MonotonicInstant.now + patience
        var delay = Duration.milliseconds(100)
        while !source.isStopping {
            let failure: PusherHTTPError
            do throws(PusherHTTPError) {
                _ = try await api.ask { (client) throws(PusherHTTPError) in try await client.triggerBatch(events) }
                return .published
            } catch {
                failure = error
            }
            if let outcome = Self.outcome(of: failure) { return outcome }
            if source.isStopping { break }
            guard MonotonicInstant.now < end else { return .hopeless(failure) }
            if delay == .milliseconds(100) {
                StandardError.write(
                    "warning: \(failure); trying again for up to \(Seconds.text(patience / .seconds(1)))")
            }
            let next = min(MonotonicInstant.now + delay, end)
            try? await source.untilStopped { try await MonotonicInstant.wait(until: next) }
            delay = min(delay * 2, .seconds(1))
        }
        return .stopped
    }

    /// Returns `nil` if the server has not accepted the request and a retry may succeed.
    private static func outcome(of error: PusherHTTPError) -> Outcome? {
        switch error.kind {
        case .invalidArgument: .refused(error)
        case .rejected: error.status == 404 ? .hopeless(error) : .refused(error)
        case .refused: .hopeless(error)
        case .unreachable: error.wasSent ? .uncertain(error) : nil
        // A proxy may give up on a request that it has already forwarded, also with 503.
        case .serverFailure: error.status == 429 ? nil : .uncertain(error)
        case .unexpectedAnswer: .uncertain(error)
        @unknown default: .uncertain(error)
        }
    }
}
