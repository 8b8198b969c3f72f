import Basics
import CommandKit
import JSONBytes
import PusherProtocol
import PusherSwift

/// Sends each line of standard input as a client event, all over one connection.
///
/// The server says nothing of an event that it takes, and not which one it rejects. So after some lines, and whenever no other
/// line is there, it is pinged: its answer comes after all that it has against the lines before.
final class ClientEventLines: PusherDelegate {
    /// Lines that have been sent, and of which a ping will show whether they were taken.
    private struct Burst {
        let socketID: String?
        var numbers: ClosedRange<Int>
        var count = 0

        init(socketID: String?, first: Int) {
            (self.socketID, numbers) = (socketID, first...first)
        }
    }

    /// A little below the 10 of Pusher Channels: the network bunches up what was sent evenly.
    static let defaultRate = 9.0

    /// What the server has against lines of the present burst.
    private struct Rejections {
        var count = 0
        var first: PusherError?
        /// When reports came, of earlier bursts too.
        var reports: [MonotonicInstant] = []

        /// Of errors that come fast the client reports 20 at once, and then one a second with the number of those between.
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
    ///   - rate: Events a second.
    ///   - patience: How long to wait for a connection and the subscription, each time.
    init(pusher: Pusher, channel: String, event: String, rate: Double, patience: Duration) {
        (self.pusher, self.channel, self.event) = (pusher, channel, event)
        (self.rate, self.patience) = (rate, patience)
        trouble = Trouble(of: pusher)
    }

    /// Sends until the end of the input, or until Ctrl-C.
    ///
    /// - Throws: If not all was sent; which lines, and why, is on standard error by then.
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

    /// Waits for the channel, as long as somebody wants it.
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

    /// Asks the server whether it has something against lines that were sent.
    private func confirm(_ burst: Burst, of subscription: PusherChannel, _ tally: inout LineTally) async {
        var failure: (any ReportableError)?
        do {
            _ = try await pusher.connection.ping()
        } catch {
            failure = error as? PusherError ?? CommandFailure(.interrupted, "interrupted before the server answered")
        }
        // What the server said before its answer has been told by then.
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
