import Basics
import CommandKit
import PusherSwift

/// The only owner of the counts. Callbacks arrive on the I/O thread; publishers use their own tasks.
final class LoadTally: Sendable {
    private struct Awaited {
        let condition: @Sendable (LoadCounts) -> Bool
        let holds: AsyncStream<Never>.Continuation
    }

    private struct State {
        var counts = LoadCounts()
        var arrivals: [Arrivals]
        var awaited: Awaited?
        var toldErrors: Set<String> = []
    }

    /// The run of the counted events.
    let run = UInt32.random(in: 1...UInt32.max)
    private let state: Lock<State>

    init(subscriptions: Int) {
        state = Lock(State(arrivals: Array(repeating: Arrivals(), count: subscriptions)))
    }

    var counts: LoadCounts { state.withLock { $0.counts } }

    func update(_ change: (inout LoadCounts) -> Void) {
        mutate { change(&$0.counts) }
    }

    /// Counts an event that arrived at a subscription, if it belongs to this test.
    func received(_ event: PusherEvent, by subscription: Int) {
        let now = MonotonicInstant.now
        guard let stamp = event.data.flatMap(EventStamp.init), stamp.run == run else { return }
        mutate { state in
            switch state.arrivals[subscription].note(stamp.sequence) {
            case .inOrder: break
            case .late: state.counts.outOfOrder += 1
            case .duplicate:
                state.counts.duplicates += 1
                return
            }
            state.counts.delivered += 1
            state.counts.lastDelivery = now
            state.counts.latency.record(now - stamp.intended)
        }
    }

    /// Counts an error. The first of each kind is reported on standard error, because a thousand connections have the
    /// same one. An error that ends the test before it has begun is its result and not reported here.
    func note(_ error: some ReportableError, kind: String, isFinal: Bool) {
        let isTold = mutate { state in
            state.counts.errors += 1
            let isNew = state.toldErrors.insert(kind).inserted
            guard isFinal, state.counts.phase == .connecting else { return isNew }
            state.counts.failure = state.counts.failure ?? error
            return false
        }
        guard isTold else { return }
        StandardError.complain(error)
    }

    /// Waits until the condition holds or the task is cancelled.
    func wait(until condition: @escaping @Sendable (LoadCounts) -> Bool) async {
        let (stream, holds) = AsyncStream.makeStream(of: Never.self)
        mutate { $0.awaited = Awaited(condition: condition, holds: holds) }
        for await _ in stream {}
    }

    private func mutate<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, reached) = state.withLock { state -> (Result, Awaited?) in
            let result = change(&state)
            guard let awaited = state.awaited, awaited.condition(state.counts) else {
                return (result, nil)
            }
            state.awaited = nil
            return (result, awaited)
        }
        reached?.holds.finish()
        return result
    }
}
