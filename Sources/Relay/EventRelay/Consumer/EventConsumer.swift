import Basics
public import JSONBytes
public import Realtime

/// A binding returned by ``EventConsumer/bind(_:_:)``, for ``EventConsumer/unbind(_:)``.
public struct EventConsumerBinding: Hashable, Sendable {
    /// `nil` if no more events will arrive.
    let id: EventRouter.BindingID?
    /// Nil for all channels.
    let channel: EventRouter.ChannelID?
}

/// Reads the events that relays have stored in a stream of NATS JetStream.
///
///     var options = EventConsumerOptions()
///     options.group = "billing"
///     let consumer = EventConsumer(nats: try NATSOptions("nats://localhost"), options: options)
///     for await message in consumer.events("price", as: Price.self) {
///         try await store(message.value)
///         try await message.ack()
///     }
///
/// Workers of a group share its events, and each event is handled at least once. A consumer offers the same bindings as
/// a client: use ``bind(_:_:)``, ``channel(_:)``, or `pusher.attach(consumer)`, and then ``start()``.
///
/// It connects when it is first read, and recovers automatically from any failure of the servers. It ends when it is
/// closed, or when its owner and all readers of its sequences have released it. May be used from any thread.
public final class EventConsumer: Sendable {
    let core: ConsumerCore

    /// Creates a consumer.
    ///
    /// - Parameters:
    ///   - nats: The servers and credentials.
    ///   - options: The events to read.
    public init(nats: NATSOptions, options: EventConsumerOptions = EventConsumerOptions()) {
        core = ConsumerCore(nats, options)
    }

    deinit { core.close() }

    // MARK: Sequences

    /// Returns a sequence of events with a name, or of all events. Calls with the same name share the group's events.
    ///
    /// - Parameters:
    ///   - name: The event name; nil for all names. With a group, each name has its own position in the stream.
    ///   - includingGaps: Whether the sequence also contains gaps in their order, to be acknowledged like events:
    ///     ``ConsumedEvent/gap``. Gaps have their own name, so a sequence for another name doesn't contain them. False
    ///     by default; ``gaps`` reports them in either case.
    public func events(_ name: String? = nil, includingGaps: Bool = false) -> ConsumedEvents<RealtimeEvent> {
        ConsumedEvents(self, name: name, includesGaps: includingGaps) { $0 }
    }

    /// Returns a sequence of events with data decoded as your type. An event that cannot be decoded is reported as an
    /// error. It becomes a dead letter, or is not delivered again: ``EventConsumerOptions/undecodable``.
    public func events<Value: Decodable & Sendable>(
        _ name: String? = nil, as type: Value.Type, using decoder: JSONBytesDecoder = JSONBytesDecoder()
    ) -> ConsumedEvents<Value> {
        ConsumedEvents(self, name: name) { event in
            guard event.hasData else {
                throw DecodingError.valueNotFound(type, .init(codingPath: [], debugDescription: ""))
            }
            return try decoder.decode(type, capacity: event.dataCapacity, write: event.writeData)
        }
    }

    // MARK: Bindings

    /// Starts delivering events to the bindings, and to the clients that the consumer is attached to. An event is
    /// acknowledged once the bindings were called with it, so bind first.
    public func start() { core.start() }

    /// Calls back for each event of all channels, in order, on ``EventConsumerOptions/callbackQueue``.
    @discardableResult
    public func bind(_ handler: @escaping @Sendable (RealtimeEvent) -> Void) -> EventConsumerBinding {
        let prefix = core.options.channelPrefix.utf8.count
        let id = core.hub.bind(to: nil) { handler($0.droppingChannelPrefix(of: prefix)) }
        return EventConsumerBinding(id: id, channel: nil)
    }

    /// Returns a channel by its name at the source.
    public func channel(_ name: String) -> EventConsumerChannel { EventConsumerChannel(core: core, name: name) }

    /// Removes a binding. May be called from within its callback.
    public func unbind(_ binding: EventConsumerBinding) {
        if let id = binding.id { core.hub.unbind(id, from: binding.channel) }
    }

    // MARK: State and errors

    /// The state of the connection.
    public var state: ConnectionState { core.connectionState }

    /// The new states from this call on. Keeps the newest 1,024 for a slow reader.
    public var states: EventSequence<SourceState> { core.stateChanges }

    /// The failures from this call on. Keeps the newest 1,024 for a slow reader.
    public var errors: EventSequence<SourceFailure> { core.failures }

    /// The periods in which relays may have missed events, from this call on. Keeps the newest 1,024 for a slow reader.
    public var gaps: EventSequence<SourceGap> { core.gaps }

    /// The number of late events from old owners, including repeated deliveries.
    public var lateEventCount: Int { core.lateEventCount }

    /// Closes the consumer and its sequences for good. Unhandled events are delivered again.
    public func close() { core.close() }

    /// Like ``close()``, but waits until the last acks are sent.
    public func shutDown() async {
        await withCheckedContinuation { continuation in core.close { continuation.resume() } }
    }
}

/// A channel of a consumer, with the events that were on it at their source.
public struct EventConsumerChannel: Sendable {
    let core: ConsumerCore
    /// The name at the source.
    public let name: String

    /// Calls back for each event with this name, in order; nil for all names.
    @discardableResult
    public func bind(
        _ event: String? = nil, _ handler: @escaping @Sendable (RealtimeEvent) -> Void
    ) -> EventConsumerBinding {
        let prefix = core.options.channelPrefix
        let channel = core.hub.channel(named: prefix + name)
        let id = core.hub.bind(to: channel, event: event) {
            handler($0.droppingChannelPrefix(of: prefix.utf8.count))
        }
        return EventConsumerBinding(id: id, channel: channel)
    }
}

extension EventConsumer: RealtimeEventSource {
    /// The prefix in ``EventConsumerOptions/channelPrefix``. No channel of a client starts this way.
    public var channelPrefix: String { core.options.channelPrefix }

    /// See `RealtimeEventSource`.
    public func attach(_ sink: any RealtimeEventSink) { core.attach(sink) }

    /// See `RealtimeEventSource`.
    public func detach(_ sink: any RealtimeEventSink) { core.detach(sink) }

    /// Stops requesting messages while `isHeld`.
    public func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { core.hold(isHeld, for: sink) }
}
