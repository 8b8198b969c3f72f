import Basics
import CommandKit
import PusherHTTP

/// Publishes the events of some channels through the HTTP API, with sequential requests that keep each channel's events
/// in order. Events that become due during a request are sent with the next one.
struct LoadPublisher: Sendable {
    private struct Batch {
        var events: [PusherHTTPClient.BatchEvent] = []
        /// The delay of each event compared to the schedule.
        var delays: [Duration] = []
        /// The number of expected deliveries.
        var deliveries = 0
    }

    private let api: PusherHTTPClient
    private let plan: LoadPlan
    private let tally: LoadTally
    /// The numbers of the channels.
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

    /// Publishes all events.
    ///
    /// - Parameters:
    ///   - run: The run in each event's stamp. Events of a run other than the tally's are not counted.
    ///   - end: Without a rate, the time to stop publishing.
    ///   - limit: The time by which to catch up with the schedule and receive responses.
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
            // Without a schedule, nothing else would limit the rate.
            if !isAccepted, !schedule.isPaced { try await Task.sleep(for: .milliseconds(100)) }
        }
        guard run == tally.run, schedule.isPaced else { return }
        let unsent = (0..<total).prefix { number(at: position + $0) < total }.count
        tally.update { $0.unsent += unsent }
    }

    /// Returns the due events that fit into one request.
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

    /// Returns whether the server accepted the batch. Throws errors that would affect every other event.
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

    /// Returns the overall number of the event at `position` among these channels' events. Channels take turns.
    private func number(at position: Int) -> Int {
        position / channels.count * plan.channelCount + channels[position % channels.count]
    }
}
