import Basics
import CommandKit
import JSONBytes
import PusherProtocol
import PusherSwift

/// Sends each line of standard input as a client event over one connection.
///
/// The server does not confirm accepted events, nor does it say which one it rejects. A ping follows after some lines,
/// and whenever there is no further line: its answer comes after all errors of the lines before it.
final class ClientEventLines: PusherDelegate {
    /// Lines sent since the last ping. The next ping shows whether they were accepted.
    private struct Burst {
        let socketID: String?
        var numbers: ClosedRange<Int>
        var count = 0

        init(socketID: String?, first: Int) {
            (self.socketID, numbers) = (socketID, first...first)
        }
    }

    /// Slightly below the limit of 10 of Pusher Channels, because the network bunches up evenly sent events.
    static let defaultRate = 9.0

    /// The server's errors about lines of the current burst.
    private struct Rejections {
        var count = 0
        var first: PusherError?
        /// The times of reports, including earlier bursts.
        var reports: [MonotonicInstant] = []

        /// Returns whether reports may be missing: of rapid errors the client reports 20 at once, and then one per
        /// second with the number of those in between.
        mutating func mayBeOmitted(of count: Int) -> Bool {
            reports.removeAll { MonotonicInstant.now - $0 > ErrorLimit.interval * ErrorLimit.burst }
            return reports.count + count > ErrorLimit.burst
        }
    }

    private static let linesOfABurst = 10

    private let pusher: Pusher
    private let channel: String
    private let event: String
    private let rate: Double
    private let patience: Duration
    private let trouble: Trouble
    private let rejections = Lock(Rejections())

    /// - Parameters:
    ///   - rate: The number of events per second.
    ///   - patience: The time limit for each connection and subscription.
    init(pusher: Pusher, channel: String, event: String, rate: Double, patience: Duration) {
        (self.pusher, self.channel, self.event) = (pusher, channel, event)
        (self.rate, self.patience) = (rate, patience)
        trouble = Trouble(of: pusher)
    }

    /// Sends lines until the end of the input or Ctrl-C.
    ///
    /// - Throws: If not everything was sent. The lines and reasons have then been written to standard error.
    func run(signsIn: Bool) async throws {
        pusher.delegate = self
        if signsIn { pusher.user.signIn() }
        let subscription = pusher.subscribe(channel)
        let source = LineSource(readAhead: Self.linesOfABurst, maximumLength: ClientMachine.maximumClientEventSize)
        defer {
            source.stop()
            pusher.disconnect()
        }
        try await SignalWatch.stopping(source.stop) { [self] in
            var tally = LineTally(deed: "sent")
            try await send(from: source, on: subscription, &tally)
            try tally.conclude(await source.rest())
        }
    }

    private func send(from source: LineSource, on subscription: PusherChannel, _ tally: inout LineTally) async throws {
        var pace = Pace(rate: rate)
        var burst: Burst?
        try await subscribe(subscription, source)
        while true {
            try? await source.untilStopped { [pace] in try await pace.wait() }
            guard let line = try await source.next(atMost: 1).first else { break }
            let text: String
            switch line.text {
            case .success(let line): text = line
            case .failure(let failure):
                tally.refused(line.number, by: failure)
                continue
            }
            if !subscription.subscribed {
                if let sent = burst { await confirm(sent, of: subscription, &tally) }
                burst = nil
                do {
                    try await subscribe(subscription, source)
                } catch let error as any ReportableError {
                    if source.isStopping { tally.leftOut(1) } else { tally.gaveUp(line.number, count: 1, by: error) }
                    return
                }
            }
            let socketID = pusher.connection.socketId
            do throws(PusherError) {
                try subscription.trigger(event, json: JSONView.isJSON(text) ? text : JSONString.quoted(text))
            } catch {
                tally.refused(line.number, by: error)
                continue
            }
            pace.passed(1)
            var sent = burst ?? Burst(socketID: socketID, first: line.number)
            sent.numbers = sent.numbers.lowerBound...line.number
            sent.count += 1
            burst = sent
            if sent.count >= Self.linesOfABurst || !source.hasLines {
                await confirm(sent, of: subscription, &tally)
                burst = nil
            }
        }
        if let burst { await confirm(burst, of: subscription, &tally) }
    }

    /// Waits for the subscription until it is stopped.
    private func subscribe(_ subscription: PusherChannel, _ source: LineSource) async throws {
        do {
            try await StatusLine.waiting(for: "the subscription of \(channel)") {
                try await source.untilStopped { [pusher, channel, patience, trouble] in
                    try await withDeadline(patience) {
                        trouble.giveUp(channel, of: pusher, after: patience / .seconds(1))
                    } _: {
                        try await pusher.connected()
                        try await subscription.subscribed()
                    }
                }
            }
        } catch is CancellationError {
            throw CommandFailure(.interrupted, "interrupted before \(channel) was subscribed")
        }
    }

    /// Asks the server for errors about the lines sent.
    private func confirm(_ burst: Burst, of subscription: PusherChannel, _ tally: inout LineTally) async {
        var failure: (any ReportableError)?
        do {
            _ = try await pusher.connection.ping()
        } catch {
            failure = error as? PusherError ?? CommandFailure(.interrupted, "interrupted before the server answered")
        }
        // All errors before the answer have then been reported.
        await withCheckedContinuation { continuation in EventStream.queue.async { continuation.resume() } }
        if rejections.withLock({ $0.mayBeOmitted(of: burst.count) }) {
            try? await Task.sleep(for: ErrorLimit.interval * 1.2)
        }
        let rejected = rejections.withLock { rejections in
            defer { rejections = Rejections(reports: rejections.reports) }
            return rejections
        }
        let isSame = burst.socketID == pusher.connection.socketId && subscription.unsentEvents.isEmpty
        guard failure == nil, isSame else {
            let error: any ReportableError =
                failure ?? PusherError(.connectionLost, "the connection ended before the server was asked")
            return tally.uncertain(burst.numbers, count: burst.count, by: error)
        }
        tally.succeeded(burst.numbers, count: burst.count)
        if let error = rejected.first {
            tally.rejected(min(rejected.count, burst.count), of: burst.numbers, by: error)
        }
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        trouble.changedConnectionState(from: old, to: new)
    }

    func receivedError(error: PusherError) {
        trouble.receivedError(error: error)
        guard error.kind == .serverError else { return StandardError.write("warning: \(error)") }
        rejections.withLock { rejections in
            rejections.reports.append(.now)
            rejections.count += 1 + error.omittedCount
            rejections.first = rejections.first ?? error
        }
    }
}
