/// A publisher that hides its concrete type.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
    private let upstream: any Publisher<Output, Failure>

    /// Creates a publisher that wraps `publisher`.
    public init(_ publisher: some Publisher<Output, Failure>) {
        upstream = publisher
    }

    /// Subscribes to the wrapped publisher.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        upstream.sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    }
}

extension Publisher {
    /// Wraps this publisher to hide its type.
    public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> {
        AnyPublisher(self)
    }
}
