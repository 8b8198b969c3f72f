/// Events as they come, for `for await`.
///
/// Made by the call that returned it, which is the moment from which nothing is missed. It has one reader: iterate it
/// once, from one task. It ends when its channel is unsubscribed, its client goes away, the reading task is cancelled,
/// or its buffer overflows under ``EventBufferingPolicy/fail(limit:)``. Dropping it, leaving the loop, or cancelling the
/// task unbinds it: what it has not delivered yet is discarded, and nothing waits for it any more.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// Reads the sequence, which ends with it.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader

        fileprivate init(reader: Reader) {
            self.reader = reader
        }

        /// The next element in order; nil at the end.
        @_specialize(where Element == RealtimeEvent)
        public mutating func next() async -> Element? {
            let element = await reader.source.buffer.next()
            if element == nil { reader.source.end() }
            return element
        }

        /// The next element in order; nil at the end.
        @_specialize(where Element == RealtimeEvent)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            let element = await reader.source.buffer.next()
            if element == nil { reader.source.end() }
            return element
        }

        /// The next element, and those that wait behind it; nil at the end.
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

        /// May be called again.
        func end() {
            buffer.close()
            onEnd()
        }
    }

    /// Goes with the last copy of its iterator, when the loop is left, though somebody may keep the sequence.
    fileprivate final class Reader: Sendable {
        let source: Source

        init(source: Source) {
            self.source = source
        }

        deinit { source.end() }
    }

    private let source: Source

    /// - Parameter onEnd: Called when nobody reads any more; may be called more than once.
    package init(_ buffer: EventBuffer<Element>, onEnd: @escaping @Sendable () -> Void) {
        source = Source(buffer: buffer, onEnd: onEnd)
    }

    /// Elements that wait to be read.
    package var waitingCount: Int { source.buffer.count }

    /// Whether the reader has had everything, and waits for more.
    package var isAwaited: Bool { source.buffer.isAwaited }

    /// The iterator; see the type for how many there may be.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: Reader(source: source))
    }
}
