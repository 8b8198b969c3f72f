/// Events as they come, for `for await`.
///
/// Made by the call that returned it, which is the moment from which nothing is missed. It has one reader: iterate it
/// once, from one task. It ends when its channel is unsubscribed, its client goes away, the reading task is cancelled,
/// or its buffer overflows under ``EventBufferingPolicy/fail(limit:)``. Dropping it, or leaving the loop, unbinds it.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// Reads the sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let source: Source

        fileprivate init(source: Source) {
            self.source = source
        }

        /// The next element in order; nil at the end.
        @_specialize(where Element == RealtimeEvent)
        public mutating func next() async -> Element? {
            await source.buffer.next()
        }

        /// The next element in order; nil at the end.
        @_specialize(where Element == RealtimeEvent)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await source.buffer.next()
        }
    }

    /// Shared by the sequence and its iterator: the last of them to go unbinds.
    fileprivate final class Source: Sendable {
        let buffer: EventBuffer<Element>
        let onEnd: @Sendable () -> Void

        init(buffer: EventBuffer<Element>, onEnd: @escaping @Sendable () -> Void) {
            self.buffer = buffer
            self.onEnd = onEnd
        }

        deinit {
            buffer.close()
            onEnd()
        }
    }

    private let source: Source

    /// - Parameter onEnd: Called when nobody reads any more.
    package init(_ buffer: EventBuffer<Element>, onEnd: @escaping @Sendable () -> Void) {
        source = Source(buffer: buffer, onEnd: onEnd)
    }

    /// The iterator; see the type for how many there may be.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source)
    }
}
