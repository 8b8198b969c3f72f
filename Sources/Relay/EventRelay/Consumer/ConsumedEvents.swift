import Basics
import CurlTransport
import JSONBytes
import Realtime

/// An asynchronous sequence of a consumer's events, for `for await`.
///
/// It has one reader: iterate it once, from one task. Reading slowly stops the servers from sending more. It ends when
/// the loop ends, the task is cancelled, or the consumer is closed. It also ends when the stream cannot be read at all,
/// which the consumer reports. Undelivered events then go to other workers.
///
/// An event whose data cannot be decoded as the requested type is reported, set aside, and skipped.
public struct ConsumedEvents<Value: Sendable>: AsyncSequence, Sendable {
    typealias Decode = @Sendable (RealtimeEvent) throws -> Value

    /// Retained while the sequence is read.
    private let consumer: EventConsumer
    private let events: EventSequence<ReceivedEvent>
    private let reader: ConsumerReader
    private let decode: Decode

    init(_ consumer: EventConsumer, name: String?, includesGaps: Bool = false, decode: @escaping Decode) {
        let core = consumer.core
        // Never full: the reader requests no more than there is room for.
        let buffer = EventBuffer<ReceivedEvent>(policy: .suspend(limit: .max))
        let reader = ConsumerReader(core, name: name, includesGaps: includesGaps) { events in
            for event in events { _ = buffer.add(event) }
        } onEnd: {
            buffer.finish()
        }
        core.add(reader)
        (self.consumer, self.reader, self.decode) = (consumer, reader, decode)
        events = EventSequence(buffer) { core.remove(reader) }
    }

    /// The iterator. The sequence ends when its iterator is released.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var events: EventSequence<ReceivedEvent>.AsyncIterator
        fileprivate let reader: ConsumerReader
        fileprivate let decode: Decode
        fileprivate let consumer: EventConsumer
        private var last: ReceivedEvent?

        fileprivate init(
            events: EventSequence<ReceivedEvent>.AsyncIterator, reader: ConsumerReader, decode: @escaping Decode,
            consumer: EventConsumer
        ) {
            (self.events, self.reader, self.decode, self.consumer) = (events, reader, decode, consumer)
        }

        /// Returns the next event, or nil at the end.
        public mutating func next() async -> ConsumedEvent<Value>? { await next(isolation: nil) }

        /// Returns the next event, or nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ConsumedEvent<Value>? {
            let reader = reader
            if let last { NetworkActor.execute { reader.wanted(after: last) } }
            last = nil
            while let received = await events.next(isolation: actor) {
                do {
                    let event = ConsumedEvent(received, try decode(received.event))
                    NetworkActor.execute { reader.began(received) }
                    last = received
                    return event
                } catch {
                    let place = (error as? DecodingError)?.place ?? "its data does not fit"
                    NetworkActor.execute { reader.failed(received, "its data cannot be decoded: " + place) }
                }
            }
            return nil
        }
    }

    /// Returns the iterator. A sequence supports only one.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(events: events.makeAsyncIterator(), reader: reader, decode: decode, consumer: consumer)
    }
}
