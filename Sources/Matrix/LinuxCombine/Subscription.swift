import Basics

/// A value in transit from the sending thread to the delivering one, or a closure in transit to the threads that call
/// it.
///
/// `@unchecked Sendable`: the locks in this module give access to one thread at a time. As with Apple's Combine,
/// callers that send non-`Sendable` values from several threads must make sure that this is safe.
struct Handed<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// One sink and its queue of pending signals, which one thread at a time delivers in order.
final class Subscription<Output, Failure: Error>: Sendable {
    enum Signal {
        case value(Output)
        case completion(Subscribers.Completion<Failure>)
    }

    struct Receiver {
        let receiveCompletion: (Subscribers.Completion<Failure>) -> Void
        let receiveValue: (Output) -> Void
    }

    private struct State: Sendable {
        /// `nil` once cancelled or completed.
        var receiver: Handed<Receiver>?
        var inbox = SerialInbox<Handed<Signal>>()
    }

    private let state: Lock<State>

    init(_ receiver: Receiver) {
        state = Lock(State(receiver: Handed(receiver)))
    }

    /// Queues a signal for the next call of ``deliver()``, or for the one in progress.
    func enqueue(_ signal: Handed<Signal>) {
        state.withLock { if $0.receiver != nil { $0.inbox.add(signal) } }
    }

    /// Calls the closures until the queue is empty. Must be called without holding a lock.
    func deliver() {
        guard state.withLock({ $0.inbox.begin() }) else { return }
        while let (receiver, signal) = next() {
            switch signal.value {
            case .value(let output): receiver.value.receiveValue(output)
            case .completion(let completion):
                cancel()
                receiver.value.receiveCompletion(completion)
            }
        }
    }

    private func next() -> (Handed<Receiver>, Handed<Signal>)? {
        state.withLock { state in
            // A cancelled subscription has an empty queue.
            guard let signal = state.inbox.next(), let receiver = state.receiver else { return nil }
            return (receiver, signal)
        }
    }

    func cancel() {
        // Releasing the receiver can run the caller's code, so it happens outside the lock.
        _ = state.withLock { state in
            defer { state.receiver = nil }
            return (state.receiver, state.inbox.removeAll())
        }
    }
}
