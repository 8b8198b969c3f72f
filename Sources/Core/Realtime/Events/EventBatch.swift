/// The events of one read, in order, each with its channel, all of them parts of the same bytes. Handing a batch to
/// another thread costs little more than handing over one event.
package struct EventBatch: Sendable, RandomAccessCollection {
    /// An event and its channel. Without a channel, the event goes only to the global bindings.
    package typealias Element = (event: RealtimeEvent, channel: EventRouter.ChannelID?)

    /// The common properties of successive events.
    private struct Kind: Sendable {
        let layout: RealtimeEvent.Layout
        let channel: EventRouter.ChannelID?
    }

    private struct Item: Sendable {
        let kind: UInt32
        let start: UInt32
        let end: UInt32
        /// The end of the data, counted from the start.
        let dataEnd: UInt32
    }

    private let bytes: [UInt8]
    private var kinds: [Kind] = []
    private var items: [Item] = []

    package init(of bytes: [UInt8], expecting count: Int) {
        self.bytes = bytes
        items.reserveCapacity(count)
    }

    /// The number of bytes that the batch keeps in memory.
    package var byteCount: Int { bytes.count }

    package func isOf(_ bytes: [UInt8]) -> Bool {
        self.bytes.withUnsafeBufferPointer { own in
            bytes.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress }
        }
    }

    /// Appends an event that is part of this batch's bytes.
    package mutating func append(_ event: RealtimeEvent, on channel: EventRouter.ChannelID?) {
        items.append(
            Item(kind: UInt32(kinds.count), start: event.start, end: event.end, dataEnd: event.dataEnd))
        kinds.append(Kind(layout: event.layout, channel: channel))
    }

    /// Starts a run of events whose frames begin with `head`.
    package mutating func begin(_ head: EventHead) {
        kinds.append(Kind(layout: head.layout, channel: head.channel))
    }

    /// Appends an event whose frame begins with the head of the last ``begin(_:)``, without another event in between.
    package mutating func append(_ frame: Range<Int>) {
        items.append(
            Item(
                kind: UInt32(kinds.count - 1), start: UInt32(truncatingIfNeeded: frame.lowerBound),
                end: UInt32(truncatingIfNeeded: frame.upperBound),
                dataEnd: UInt32(truncatingIfNeeded: frame.count - EventHead.tail)))
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { items.count }

    package subscript(index: Int) -> Element {
        let (item, kind) = (items[index], kinds[Int(items[index].kind)])
        return (event(item, of: kind), kind.channel)
    }

    @inline(__always)
    private func event(_ item: Item, of kind: Kind) -> RealtimeEvent {
        RealtimeEvent(bytes: bytes, start: item.start, end: item.end, layout: kind.layout, dataEnd: item.dataEnd)
    }

    /// Calls `body` with each event, its channel, and whether it has the same name and channel as the previous one.
    package func forEach(_ body: (RealtimeEvent, EventRouter.ChannelID?, _ isLikeTheLast: Bool) -> Void) {
        var last: UInt32?
        for item in items {
            let kind = kinds[Int(item.kind)]
            body(event(item, of: kind), kind.channel, last == item.kind)
            last = item.kind
        }
    }
}
