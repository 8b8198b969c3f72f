import Glibc

/// How an event's frame begins: all up to its data. Often the next frame begins the same way and differs in its data
/// alone; then nobody has to look again what is what, and whose it is.
package final class EventHead: Sendable {
    /// From the frame's first byte to the quote that opens the data.
    package let prefix: [UInt8]
    /// Counted from the frame's first byte.
    let layout: RealtimeEvent.Layout
    package let channel: EventRouter.ChannelID?

    /// Nil if something stands behind the data, or the event is not a view of a frame.
    package init?(of event: RealtimeEvent, on channel: EventRouter.ChannelID?) {
        let layout = event.layout
        let parts = [layout.name, layout.channel, layout.user].filter(\.isPresent)
        guard let frame = event.frame, layout.dataForm == .jsonString, !layout.isKept,
            parts.allSatisfy({ $0.end < layout.payload.start }), layout.payload.end + 2 == layout.frame.end
        else { return nil }
        self.layout = layout.moved(by: 0 &- layout.frame.start)
        prefix = Array(frame.prefix(Int(self.layout.payload.start)))
        self.channel = channel
    }

    /// Where the data starts if the frame begins this way.
    @inline(__always)
    package func dataStart(_ bytes: UnsafeBufferPointer<UInt8>, _ frame: Range<Int>) -> Int? {
        guard frame.count > prefix.count + 1,
            memcmp(bytes.baseAddress.unsafelyUnwrapped + frame.lowerBound, prefix, prefix.count) == 0
        else { return nil }
        return frame.lowerBound + prefix.count
    }
}

extension RealtimeEvent.Layout {
    /// - Parameter offset: Modulo 2³², so that it may be negative.
    func moved(by offset: UInt32) -> Self {
        func move(_ span: RealtimeEvent.Span) -> RealtimeEvent.Span {
            span.isPresent ? .init(start: span.start &+ offset, end: span.end &+ offset) : span
        }
        var layout = self
        layout.frame = move(frame)
        layout.name = move(name)
        layout.channel = move(channel)
        layout.payload = move(payload)
        layout.user = move(user)
        return layout
    }
}
