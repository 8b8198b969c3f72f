/// An asynchronous sequence of events, for `for await`.
///
/// Nothing is missed from the moment the method that created it returns. It has one reader: iterate it once, from one
/// task. It ends when its channel is unsubscribed, its client goes away, the reading task is cancelled, or its buffer
/// overflows under ``EventBufferingPolicy/fail(limit:)``. Dropping it, leaving the loop, or cancelling the task unbinds
/// it: undelivered events are discarded and nothing waits for it any more.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The iterator. The sequence ends when its iterator is released.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader

        fileprivate init(reader: Reader) {
            self.reader = reader
        }

        /// Returns the next element in order, or nil at the end.
        @_specialize(where Element == RealtimeEvent)
        public mutating func next() async -> Element? {
            let element = await reader.source.buffer.next()
            if element == nil { reader.source.end() }
            return element
        }

        /// Returns the next element in order, or nil at the end.
        @_specialize(where Element == RealtimeEvent)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            let element = await reader.source.buffer.next()
            if element == nil { reader.source.end() }
            return element
        }

        /// Returns the next element and those waiting after it, or nil at the end.
        package mutating func nextBatch(limit: Int) async -> [Element]? {
            guard let first = await next() else { return nil }
            return [first] + reader.source.buffer.takeWaiting(limit: limit - 1)
        }
    }

    /// Shared by the sequence and its iterator.
    fileprivate final class Source: Sendable {
        let buffer: EventBuffer<Element>
        private let onEnd: @Sendable () -> Void

        init(buffer: EventBuffer<Element>, onEnd: @escaping @Sendable () -> Void) {
            self.buffer = buffer
            self.onEnd = onEnd
        }

        deinit { end() }

        /// Ends the sequence. May be called repeatedly.
        func end() {
            buffer.close()
            onEnd()
        }
    }

    /// Released with the last copy of its iterator when the loop ends, even if the sequence is still retained.
    fileprivate final class Reader: Sendable {
        let source: Source

        init(source: Source) {
            self.source = source
        }

        deinit { source.end() }
    }

    private let source: Source

    /// - Parameter onEnd: Called when the sequence has no reader any more. May be called more than once.
    package init(_ buffer: EventBuffer<Element>, onEnd: @escaping @Sendable () -> Void) {
        source = Source(buffer: buffer, onEnd: onEnd)
    }

    package var waitingCount: Int { source.buffer.count }

    /// Whether the reader has read everything and is waiting for more.
    package var isAwaited: Bool { source.buffer.isAwaited }

    /// Returns the iterator. A sequence supports only one.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: Reader(source: source))
    }
}
