/// A publisher of which only the types of its values and failures are known.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
    private let upstream: any Publisher<Output, Failure>

    /// Publishes what `publisher` does.
    public init(_ publisher: some Publisher<Output, Failure>) {
        upstream = publisher
    }

    /// A sink of the publisher inside.
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        upstream.sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    }
}

extension Publisher {
    /// The same publisher, with its type hidden.
    public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> {
        AnyPublisher(self)
    }
}
