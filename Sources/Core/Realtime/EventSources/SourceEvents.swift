/// Events that a source hands over, in order, packed into one buffer.
public struct SourceEvents: Sendable {
    private struct Item: Sendable {
        let channel: String?
        let layout: RealtimeEvent.Layout
        let range: Range<Int>
        let dataEnd: UInt32
    }

    private var bytes: [UInt8] = []
    private var items: [Item] = []

    /// Creates an empty collection.
    public init() {}

    /// Whether it contains no events.
    public var isEmpty: Bool { items.isEmpty }

    /// The number of events.
    public var count: Int { items.count }

    /// Appends an event.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The name of its channel; nil for an event that goes only to global bindings.
    ///   - data: UTF-8 text, usually JSON, if any.
    ///   - userId: The user who caused it.
    ///   - notifies: Whether to notify the user of it.
    ///   - highlights: Whether to highlight it for the user.
    ///   - origin: Whether the event is new.
    public mutating func append(
        name: String, channel: String?, data: (some Sequence<UInt8>)?, userId: String? = nil, notifies: Bool = false,
        highlights: Bool = false, origin: EventOrigin = .live
    ) {
        let start = bytes.count
        func append<Part: Sequence<UInt8>>(_ part: Part?) -> RealtimeEvent.Span {
            guard let part else { return .none }
            let from = bytes.count - start
            bytes.append(contentsOf: part)
            return RealtimeEvent.Span(UInt32(truncatingIfNeeded: from), UInt32(truncatingIfNeeded: bytes.count - start))
        }
        var layout = RealtimeEvent.Layout()
        layout.isFrame = false
        layout.notifies = notifies
        layout.highlights = highlights
        (layout.isKept, layout.isRepeated) = (origin != .live, origin == .repeatedCache)
        layout.name = append(name.utf8)
        layout.channel = append(channel?.utf8)
        layout.user = append(userId?.utf8)
        let dataSpan = append(data)
        layout.dataStart = dataSpan.start
        layout.dataForm = dataSpan.isPresent ? .text : .absent
        items.append(Item(channel: channel, layout: layout, range: start..<bytes.count, dataEnd: dataSpan.end))
    }

    /// Returns the events in the form that bindings take.
    ///
    /// - Parameter channelID: The channel of a name, if it has bindings.
    package func batch(channelID: (String) -> EventRouter.ChannelID?) -> EventBatch {
        var batch = EventBatch(of: bytes, expecting: items.count)
        for item in items {
            let event = RealtimeEvent(bytes: bytes, range: item.range, layout: item.layout, dataEnd: item.dataEnd)
            batch.append(event, on: item.channel.flatMap(channelID))
        }
        return batch
    }
}
