import Basics

/// The shared implementation of both subjects: their sinks, and the first value to deliver to a new one.
final class Broadcast<Output, Failure: Error>: Sendable {
    typealias Sink = Subscription<Output, Failure>

    private struct State: Sendable {
        /// The value to deliver to new sinks; `nil` to deliver none.
        var current: Handed<Output>?
        /// The sinks, in order of subscription.
        var sinks: [Sink] = []
        var completion: Subscribers.Completion<Failure>?
    }

    private let state: Lock<State>

    init(current: Handed<Output>? = nil) {
        state = Lock(State(current: current))
    }

    var current: Handed<Output>? { state.withLock { $0.current } }

    func add(_ sink: Sink) {
        state.withLock { state in
            if let completion = state.completion {
                sink.enqueue(Handed(.completion(completion)))
            } else {
                state.sinks.append(sink)
                if let current = state.current { sink.enqueue(Handed(.value(current.value))) }
            }
        }
        sink.deliver()
    }

    func remove(_ sink: Sink) {
        sink.cancel()
        let removed = state.withLock { state in
            state.sinks.firstIndex { $0 === sink }.map { state.sinks.remove(at: $0) }
        }
        withExtendedLifetime(removed) {}
    }

    func send(_ value: Handed<Output>) {
        // Enqueue for all sinks in one step, so that all of them see values from several threads in the same order.
        let (sinks, replaced) = state.withLock { state -> ([Sink], Handed<Output>?) in
            guard state.completion == nil else { return ([], nil) }
            for sink in state.sinks { sink.enqueue(Handed(.value(value.value))) }
            let replaced = state.current
            if replaced != nil { state.current = value }
            return (state.sinks, replaced)
        }
        for sink in sinks { sink.deliver() }
        withExtendedLifetime(replaced) {}
    }

    func send(completion: Subscribers.Completion<Failure>) {
        let sinks = state.withLock { state -> [Sink] in
            guard state.completion == nil else { return [] }
            state.completion = completion
            for sink in state.sinks { sink.enqueue(Handed(.completion(completion))) }
            defer { state.sinks = [] }
            return state.sinks
        }
        for sink in sinks { sink.deliver() }
    }
}

extension Broadcast {
    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        let sink = Sink(Sink.Receiver(receiveCompletion: receiveCompletion, receiveValue: receiveValue))
        add(sink)
        return AnyCancellable { self.remove(sink) }
    }
}
