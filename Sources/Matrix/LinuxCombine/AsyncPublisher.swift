/// The values of a publisher as an asynchronous sequence that ends with the publisher. See ``Publisher/values``.
public struct AsyncPublisher<Upstream: Publisher>: AsyncSequence
where Upstream.Output: Sendable, Upstream.Failure == Never {
    /// The publisher's output.
    public typealias Element = Upstream.Output
    /// The sequence never fails.
    public typealias Failure = Never

    /// An iterator that subscribes when it is created and unsubscribes when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        private var values: AsyncStream<Element>.Iterator

        init(_ upstream: Upstream) {
            let (values, continuation) = AsyncStream.makeStream(
                of: Element.self, bufferingPolicy: .bufferingNewest(AsyncPublisher.bufferSize))
            let subscription = upstream.sink(receiveCompletion: { _ in continuation.finish() }) {
                continuation.yield($0)
            }
            continuation.onTermination = { _ in subscription.cancel() }
            self.values = values.makeAsyncIterator()
        }

        /// Returns the next value, or `nil` when the publisher has finished or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await values.next(isolation: actor)
        }
    }

    /// The number of values to buffer for a slow reader. Beyond it, the oldest are dropped.
    private static var bufferSize: Int { 1024 }

    let upstream: Upstream

    /// Subscribes to the publisher.
    public func makeAsyncIterator() -> Iterator {
        Iterator(upstream)
    }
}

extension Publisher where Failure == Never, Output: Sendable {
    /// The publisher's values from the start of the loop, including the current value if there is one. If more than
    /// 1,024 values are waiting for the loop, the oldest are dropped.
    public var values: AsyncPublisher<Self> {
        AsyncPublisher(upstream: self)
    }
}
