import Basics
import CommandKit
import PusherHTTP
import PusherSwift

/// Connects, publishes on schedule, and waits for late events.
struct LoadTest: Sendable {
    private let plan: LoadPlan
    private let target: LoadTarget
    private let tally: LoadTally
    private let subscribers: [LoadSubscriber]

    init(_ plan: LoadPlan, on target: LoadTarget) {
        let tally = LoadTally(subscriptions: plan.connections * plan.subscriptions)
        var options = target.options
        options.callbackQueue = .inline  // no queue between the socket and the clock
        let names = plan.channels
        self.plan = plan
        self.target = target
        self.tally = tally
        subscribers = (0..<plan.connections).map { connection in
            LoadSubscriber(
                pusher: Pusher(key: target.key, options: options),
                channels: plan.channels(of: connection).map { names[$0] }, first: connection * plan.subscriptions,
                tally: tally)
        }
    }

    /// Returns the results so far.
    func report(isInterrupted: Bool = false) -> LoadReport {
        LoadReport(plan: plan, counts: tally.counts, server: target.name, isInterrupted: isInterrupted)
    }

    func run() async throws {
        try await connect()
        if plan.warmUp > .zero {
            tally.update { $0.phase = .warmUp }
            try await publish(run: 0, for: plan.warmUp)
        }
        try await publish(run: tally.run, for: plan.duration)
        tally.update { counts in
            counts.phase = .draining
            let planned = counts.began.map { $0 + plan.duration }
            counts.ended = max(planned ?? .now, .now)
        }
        await drain(for: plan.drain)
        try Task.checkCancellation()
    }

    /// Waits up to `duration` until everything has arrived.
    func drain(for duration: Duration) async {
        await wait(for: duration) { $0.delivered >= $0.expected }
    }

    /// Closes all connections, waiting only a moment.
    func close() async {
        for subscriber in subscribers { subscriber.close() }
        await wait(for: .seconds(2)) { $0.connected == 0 }
    }

    private func connect() async throws {
        let schedule = SendSchedule(start: .now, rate: plan.connectRate)
        for (index, subscriber) in subscribers.enumerated() {
            try await schedule.wait(for: index)
            subscriber.connect()
            guard tally.counts.failure == nil else { break }
        }
        let wanted = plan.connections * plan.subscriptions
        await wait(for: plan.connectTimeout) { $0.subscribed == wanted || $0.failure != nil }
        try Task.checkCancellation()
        let counts = tally.counts
        if let failure = counts.failure { throw refusal(failure) }
        guard counts.subscribed == wanted else {
            throw CommandFailure(
                .unavailable,
                """
                after \(plan.connectTimeout / .seconds(1)) s, \(counts.connected) of \(plan.connections) connections \
                were up, with \(counts.subscribed) of \(wanted) subscriptions
                """)
        }
    }

    /// Returns the error to report before anything is published: a server error then means a refused subscription.
    private func refusal(_ failure: any ReportableError) -> any ReportableError {
        guard let error = failure as? PusherError, error.kind == .serverError else { return failure }
        return CommandFailure(.refused, error.description)
    }

    private func publish(run: UInt32, for duration: Duration) async throws {
        let start = MonotonicInstant.now
        if run == tally.run {
            tally.update { counts in
                counts.phase = .measuring
                counts.began = start
            }
        }
        let schedule = SendSchedule(start: start, rate: plan.rate)
        let count = min(plan.publishers, plan.channelCount)
        try await withThrowingTaskGroup { group in
            for first in 0..<count {
                let publisher = LoadPublisher(
                    api: target.api, plan: plan, tally: tally,
                    channels: Array(stride(from: first, to: plan.channelCount, by: count)))
                group.addTask {
                    try await publisher.publish(
                        run: run, by: schedule, end: start + duration, limit: start + duration + plan.drain)
                }
            }
            try await group.waitForAll()
        }
    }

    private func wait(
        for duration: Duration, until condition: @escaping @Sendable (LoadCounts) -> Bool
    ) async {
        await withTaskGroup { group in
            group.addTask { await tally.wait(until: condition) }
            group.addTask { _ = try? await Task.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
    }
}
