/// A source of values over time, modelled on Apple's Combine, which is not available on Linux.
///
/// Implements a small part of Combine, for code that shares its models with Apple platforms. Values go to the sinks at
/// once: there is no demand and no scheduler, and a sink's closures run on the thread that sends.
public protocol Publisher<Output, Failure> {
    /// The type of the published values.
    associatedtype Output
    /// The type of failure; `Never` if the publisher cannot fail.
    associatedtype Failure: Error

    /// Subscribes the closures until the result is cancelled or released.
    ///
    /// Values arrive in order and one at a time, whatever threads they are sent from. A closure can send, subscribe and
    /// cancel. Once ``AnyCancellable/cancel()`` has returned, its thread sees no further call.
    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable
}

extension Publisher where Failure == Never {
    /// Calls the closure with each value until the result is cancelled or released.
    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
        sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
    }
}

/// The types that sinks receive.
public enum Subscribers {
    /// The reason why no more values follow.
    @frozen
    public enum Completion<Failure: Error>: Sendable {
        case finished
        case failure(Failure)
    }
}

extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}
