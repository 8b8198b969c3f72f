import Basics
import CommandKit
import PusherSwift

/// The one owner of what is counted. Callbacks come from the thread that does all I/O, publishers from tasks of theirs.
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

    /// That of the events that count.
    let run = UInt32.random(in: 1...UInt32.max)
    private let state: Lock<State>

    init(subscriptions: Int) {
        state = Lock(State(arrivals: Array(repeating: Arrivals(), count: subscriptions)))
    }

    var counts: LoadCounts { state.withLock { $0.counts } }

    func update(_ change: (inout LoadCounts) -> Void) {
        mutate { change(&$0.counts) }
    }

    /// An event of this test, or somebody else's, came to a subscription.
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

    /// Counts an error. The first of each kind is told on standard error, since a thousand connections have it alike;
    /// but not the one that ends the test before it has begun: that is its outcome.
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

    /// Returns when the condition holds, or when the task is cancelled.
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
