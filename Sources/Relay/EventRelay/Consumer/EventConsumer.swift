import Basics
public import JSONBytes
public import Realtime

/// What ``EventConsumer/bind(_:_:)`` returns, for ``EventConsumer/unbind(_:)``.
public struct EventConsumerBinding: Hashable, Sendable {
    /// Nil if nothing more comes.
    let id: EventRouter.BindingID?
    /// Nil for all channels.
    let channel: EventRouter.ChannelID?
}

/// Reads the events that relays have put into a stream of NATS JetStream.
///
///     var options = EventConsumerOptions()
///     options.group = "billing"
///     let consumer = EventConsumer(nats: try NATSOptions("nats://localhost"), options: options)
///     for await message in consumer.events("price", as: Price.self) {
///         try await store(message.value)
///         try await message.ack()
///     }
///
/// Workers of a group share its events, and each event is handled at least once. Code that binds to channels binds to a
/// consumer as well: ``bind(_:_:)``, ``channel(_:)``, or `pusher.attach(consumer)`, and then ``start()``.
///
/// It connects when it is first read, and goes on by itself after whatever happens to the servers, until it is closed, or let go
/// of by its owner and by all who read its sequences. May be used from any thread.
public final class EventConsumer: Sendable {
    let core: ConsumerCore

    /// - Parameters:
    ///   - nats: Where the servers are, and who one is to them.
    ///   - options: What to read.
    public init(nats: NATSOptions, options: EventConsumerOptions = EventConsumerOptions()) {
        core = ConsumerCore(nats, options)
    }

    deinit { core.close() }

    // MARK: Sequences

    /// Events of a name, or of all names. Calls with the same name share the group's events.
    ///
    /// - Parameters:
    ///   - name: With a group, each name has a place of its own in the stream.
    ///   - includingGaps: Whether gaps come among the events, in their place, and to be acknowledged like them:
    ///     ``ConsumedEvent/gap``. They have a name of their own, and don't come among the events of another name. Default: no;
    ///     ``gaps`` has them either way.
    public func events(_ name: String? = nil, includingGaps: Bool = false) -> ConsumedEvents<RealtimeEvent> {
        ConsumedEvents(self, name: name, includesGaps: includingGaps) { $0 }
    }

    /// The same with data of a type of your own. An event whose data is of another form is reported as an error, and becomes a
    /// dead letter, or is not delivered again: ``EventConsumerOptions/undecodable``.
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

    /// Hands events to the bindings, and to the clients that the consumer is attached to. An event is acknowledged once the
    /// bindings were called with it: bind first.
    public func start() { core.start() }

    /// Calls back for each event of all channels, in order, on ``EventConsumerOptions/callbackQueue``.
    @discardableResult
    public func bind(_ handler: @escaping @Sendable (RealtimeEvent) -> Void) -> EventConsumerBinding {
        let prefix = core.options.channelPrefix.utf8.count
        let id = core.hub.bind(to: nil) { handler($0.droppingChannelPrefix(of: prefix)) }
        return EventConsumerBinding(id: id, channel: nil)
    }

    /// One channel, by the name that it has at its source.
    public func channel(_ name: String) -> EventConsumerChannel { EventConsumerChannel(core: core, name: name) }

    /// Ends the calls of a binding, also from within one.
    public func unbind(_ binding: EventConsumerBinding) {
        if let id = binding.id { core.hub.unbind(id, from: binding.channel) }
    }

    // MARK: What else there is to know

    /// Where the connection stands.
    public var state: ConnectionState { core.connectionState }

    /// Each new state, from this call on. Keeps the newest 1,024 for a slow reader.
    public var states: EventSequence<SourceState> { core.stateChanges }

    /// What goes wrong, from this call on. Keeps the newest 1,024 for a slow reader.
    public var errors: EventSequence<SourceFailure> { core.failures }

    /// Times in which relays may have missed events, from this call on. Keeps the newest 1,024 for a slow reader.
    public var gaps: EventSequence<SourceGap> { core.gaps }

    /// How many events of old owners have come late, deliveries that were repeated included.
    public var lateEventCount: Int { core.lateEventCount }

    /// Ends it for good, and its sequences. What was not handled is delivered again.
    public func close() { core.close() }

    /// The same, and waits until the last acks are sent.
    public func shutDown() async {
        await withCheckedContinuation { continuation in core.close { continuation.resume() } }
    }
}

/// A channel of a consumer: events that were on it at their source.
public struct EventConsumerChannel: Sendable {
    let core: ConsumerCore
    /// The name at the source.
    public let name: String

    /// Calls back for each event of this name, in order; nil is every name.
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
    /// ``EventConsumerOptions/channelPrefix``: no channel of a client begins like that.
    public var channelPrefix: String { core.options.channelPrefix }

    /// See `RealtimeEventSource`.
    public func attach(_ sink: any RealtimeEventSink) { core.attach(sink) }

    /// See `RealtimeEventSource`.
    public func detach(_ sink: any RealtimeEventSink) { core.detach(sink) }

    /// Asks for no more messages as long as `isHeld`.
    public func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { core.hold(isHeld, for: sink) }
}
