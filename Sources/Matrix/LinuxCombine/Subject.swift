/// A publisher whose values you send, from any thread.
///
/// If you send from within a sink's closure, or while another thread is delivering, that sink receives the value after
/// the current one. After a completion, sends are ignored.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
    /// Publishes a value.
    func send(_ value: Output)

    /// Publishes the completion.
    func send(completion: Subscribers.Completion<Failure>)
}

extension Subject where Output == Void {
    /// Publishes that something has happened.
    public func send() {
        send(())
    }
}

/// A subject that publishes to its current subscribers.
public final class PassthroughSubject<Output, Failure: Error>: Subject {
    private let broadcast = Broadcast<Output, Failure>()

    /// Creates a subject without sinks.
    public init() {}

    /// Publishes a value.
    public func send(_ value: Output) {
        broadcast.send(Handed(value))
    }

    /// Publishes the completion. Later subscribers receive it at once.
    public func send(completion: Subscribers.Completion<Failure>) {
        broadcast.send(completion: completion)
    }

    /// Calls the closures with everything sent from now on.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        broadcast.sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    }
}

extension PassthroughSubject: Sendable where Output: Sendable {}

/// A subject that publishes to its current subscribers and keeps the last value for later ones.
public final class CurrentValueSubject<Output, Failure: Error>: Subject {
    private let broadcast: Broadcast<Output, Failure>

    /// - Parameter value: The first value.
    public init(_ value: Output) {
        broadcast = Broadcast(current: Handed(value))
    }

    /// The current value. Setting it publishes it. After a completion it no longer changes.
    public var value: Output {
        get {
            guard let current = broadcast.current else {
                preconditionFailure("a broadcast that was made with a value keeps one")
            }
            return current.value
        }
        set { send(newValue) }
    }

    /// Publishes a value.
    public func send(_ value: Output) {
        broadcast.send(Handed(value))
    }

    /// Publishes the completion. Later subscribers receive it at once, without a value.
    public func send(completion: Subscribers.Completion<Failure>) {
        broadcast.send(completion: completion)
    }

    /// Calls `receiveValue` with the current value before returning, then with every value sent.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        broadcast.sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    }
}

extension CurrentValueSubject: Sendable where Output: Sendable {}
