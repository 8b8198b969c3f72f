import Basics
import CommandKit
import PusherHTTP

/// Publishes the events of some channels through the HTTP API, one request after the other, so that each channel's
/// events stay in order. What has become due during a request goes out with the next one.
struct LoadPublisher: Sendable {
    private struct Batch {
        var events: [PusherHTTPClient.BatchEvent] = []
        /// How much later than meant each is sent.
        var delays: [Duration] = []
        /// Deliveries that it should bring.
        var deliveries = 0
    }

    private let api: PusherHTTPClient
    private let plan: LoadPlan
    private let tally: LoadTally
    /// Which of the channels, by number.
    private let channels: [Int]
    private let names: [String]
    private let subscribers: [Int]

    init(api: PusherHTTPClient, plan: LoadPlan, tally: LoadTally, channels: [Int]) {
        self.api = api
        self.plan = plan
        self.tally = tally
        self.channels = channels
        names = plan.channels
        subscribers = plan.subscribers
    }

    /// Publishes until all is sent.
    ///
    /// - Parameters:
    ///   - run: Stands in each event; those of another run than the tally's are not counted.
    ///   - end: Without a rate, the last moment to publish.
    ///   - limit: The last moment to catch up with the schedule, and for answers.
    func publish(
        run: UInt32, by schedule: SendSchedule, end: MonotonicInstant, limit: MonotonicInstant
    ) async throws {
        let total = schedule.count(in: end - schedule.start) ?? .max
        var position = 0
        while number(at: position) < total {
            try await schedule.wait(for: number(at: position))
            let now = MonotonicInstant.now
            guard now < (schedule.isPaced ? limit : end) else { break }
            let batch = batch(run: run, by: schedule, from: position, total: total, now: now)
            position += batch.events.count
            let isAccepted = try await send(batch, counts: run == tally.run, limit: limit)
            // Without a schedule nothing else would hold it back.
            if !isAccepted, !schedule.isPaced { try await Task.sleep(for: .milliseconds(100)) }
        }
        guard run == tally.run, schedule.isPaced else { return }
        let unsent = (0..<total).prefix { number(at: position + $0) < total }.count
        tally.update { $0.unsent += unsent }
    }

    /// What is due, as far as one request takes it.
    private func batch(
        run: UInt32, by schedule: SendSchedule, from position: Int, total: Int, now: MonotonicInstant
    ) -> Batch {
        var batch = Batch()
        while batch.events.count < PusherHTTPClient.maximumBatch {
            let number = number(at: position + batch.events.count)
            let intended = schedule.due(number) ?? now
            guard intended <= now, number < total else { break }
            let channel = number % plan.channelCount
            let stamp = EventStamp(run: run, sequence: number / plan.channelCount, intended: intended)
            batch.events.append(
                PusherHTTPClient.BatchEvent(
                    channel: names[channel], event: LoadPlan.eventName, data: stamp.data(size: plan.size)))
            batch.delays.append(now - intended)
            batch.deliveries += subscribers[channel]
        }
        return batch
    }

    /// Says whether the server has accepted it. Throws what would be the same for every other event.
    private func send(_ batch: Batch, counts: Bool, limit: MonotonicInstant) async throws -> Bool {
        let start = MonotonicInstant.now
        do {
            let unanswered = CommandFailure(.unavailable, "the HTTP API did not answer before the end")
            try await withDeadline(limit - start, failure: { unanswered }) { [api] in
                _ = try await api.triggerBatch(batch.events)
            }
        } catch let error as any ReportableError {
            try Task.checkCancellation()
            guard error.exitStatus == .unavailable else { throw error }
            tally.note(error, kind: "publishing \((error as? PusherHTTPError)?.kind.rawValue ?? "")", isFinal: false)
            if counts { tally.update { $0.failed += batch.events.count } }
            return false
        }
        let took = MonotonicInstant.now - start
        guard counts else { return true }
        tally.update { tally in
            tally.published += batch.events.count
            tally.expected += batch.deliveries
            tally.requests.record(took)
            for delay in batch.delays { tally.delay.record(delay) }
        }
        return true
    }

    /// Events go to the channels in turn: the number, among all, of the event at `position` among these channels'.
    private func number(at position: Int) -> Int {
        position / channels.count * plan.channelCount + channels[position % channels.count]
    }
}
