import Basics

/// A value on its way from the thread that sends it to the one that delivers it, or a closure on its way to the threads
/// that call it.
///
/// `@unchecked Sendable`: one thread at a time has it, as the locks here see to. Whether a value of a type that is not
/// `Sendable` may change threads at all is for those to know who send it from several, as with Apple's Combine.
struct Handed<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// One sink: what it has still to be told, told in order by one thread at a time.
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
        /// Nil once it is cancelled or completed.
        var receiver: Handed<Receiver>?
        var inbox = SerialInbox<Handed<Signal>>()
    }

    private let state: Lock<State>

    init(_ receiver: Receiver) {
        state = Lock(State(receiver: Handed(receiver)))
    }

    /// To be delivered by the next ``deliver()``, or the one under way.
    func enqueue(_ signal: Handed<Signal>) {
        state.withLock { if $0.receiver != nil { $0.inbox.add(signal) } }
    }

    /// Calls the closures until there is nothing left to say. Called without any lock held.
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
            // One that was cancelled has nothing in it.
            guard let signal = state.inbox.next(), let receiver = state.receiver else { return nil }
            return (receiver, signal)
        }
    }

    func cancel() {
        // What is let go of may run code of the user's, so it outlives the lock.
        _ = state.withLock { state in
            defer { state.receiver = nil }
            return (state.receiver, state.inbox.removeAll())
        }
    }
}
