/// A source of values over time, in the way of Apple's Combine, which Linux does not have.
///
/// A small part of it, for code that shares its models with Apple's systems: what a publisher has goes to its sinks at
/// once. There is no demand, and no scheduler: a sink's closures run on the thread that sends.
public protocol Publisher<Output, Failure> {
    /// What it publishes.
    associatedtype Output
    /// How it can fail; `Never` if it cannot.
    associatedtype Failure: Error

    /// Calls the closures with what is published until the result is cancelled, or let go of.
    ///
    /// Values come in order and one at a time, whatever threads they are sent from. A closure may send, subscribe and
    /// cancel. Once ``AnyCancellable/cancel()`` has returned, its thread sees no further call.
    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable
}

extension Publisher where Failure == Never {
    /// Calls the closure with each value until the result is cancelled, or let go of.
    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
        sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
    }
}

/// What sinks are told.
public enum Subscribers {
    /// Why no more values come.
    @frozen
    public enum Completion<Failure: Error>: Sendable {
        case finished
        case failure(Failure)
    }
}

extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}
