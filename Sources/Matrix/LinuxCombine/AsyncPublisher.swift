/// The values of a publisher as a sequence, which ends with the publisher. See ``Publisher/values``.
public struct AsyncPublisher<Upstream: Publisher>: AsyncSequence
where Upstream.Output: Sendable, Upstream.Failure == Never {
    /// What the publisher publishes.
    public typealias Element = Upstream.Output
    /// It cannot fail.
    public typealias Failure = Never

    /// Subscribed from its making until it goes.
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

        /// The next value; nil when the publisher has finished, or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await values.next(isolation: actor)
        }
    }

    /// Values that wait for a slow reader. Of more than these the oldest go.
    private static var bufferSize: Int { 1024 }

    let upstream: Upstream

    /// Subscribes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(upstream)
    }
}

extension Publisher where Failure == Never, Output: Sendable {
    /// Its values from when the loop starts, the current one included if there is one. Of more than 1,024 values that the
    /// loop has not come to, the oldest are dropped.
    public var values: AsyncPublisher<Self> {
        AsyncPublisher(upstream: self)
    }
}
