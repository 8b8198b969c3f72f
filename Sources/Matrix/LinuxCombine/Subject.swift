/// A publisher that publishes what it is sent, from any thread.
///
/// What is sent from within a sink's closure, or while another thread delivers, reaches that sink after what it is being
/// told. After a completion nothing is sent any more.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
    /// Publishes a value.
    func send(_ value: Output)

    /// Publishes the end.
    func send(completion: Subscribers.Completion<Failure>)
}

extension Subject where Output == Void {
    /// Publishes that something has happened.
    public func send() {
        send(())
    }
}

/// Publishes to those who are subscribed at the time.
public final class PassthroughSubject<Output, Failure: Error>: Subject {
    private let broadcast = Broadcast<Output, Failure>()

    /// A subject without sinks.
    public init() {}

    /// Publishes a value.
    public func send(_ value: Output) {
        broadcast.send(Handed(value))
    }

    /// Publishes the end. Whoever subscribes later is told it at once.
    public func send(completion: Subscribers.Completion<Failure>) {
        broadcast.send(completion: completion)
    }

    /// Calls the closures with what is sent from now on.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        broadcast.sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    }
}

extension PassthroughSubject: Sendable where Output: Sendable {}

/// Publishes to those who are subscribed, and keeps the last value for those who come later.
public final class CurrentValueSubject<Output, Failure: Error>: Subject {
    private let broadcast: Broadcast<Output, Failure>

    /// - Parameter value: The first value.
    public init(_ value: Output) {
        broadcast = Broadcast(current: Handed(value))
    }

    /// The last value; setting it publishes it. After a completion it does not change any more.
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

    /// Publishes the end. Whoever subscribes later is told it at once, and no value.
    public func send(completion: Subscribers.Completion<Failure>) {
        broadcast.send(completion: completion)
    }

    /// Calls `receiveValue` with the current value before this returns, then with what is sent.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        broadcast.sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    }
}

extension CurrentValueSubject: Sendable where Output: Sendable {}
