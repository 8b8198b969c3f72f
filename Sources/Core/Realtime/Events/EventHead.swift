import Glibc

/// The beginning of an event's frame, up to its data. Often the next frame begins the same way and differs only in its
/// data. It then needs no parsing and no lookup of its channel.
package final class EventHead: Sendable {
    /// The bytes from the frame's first one to the quote that opens the data.
    package let prefix: [UInt8]
    let layout: RealtimeEvent.Layout
    package let channel: EventRouter.ChannelID?

    /// In bytes. Longer beginnings are not worth keeping, one for each channel.
    private static let maximumPrefix: UInt32 = 1024

    /// Returns nil if anything follows the data, the event is not a view of a frame, or its names are very long.
    package init?(of event: RealtimeEvent, on channel: EventRouter.ChannelID?) {
        let layout = event.layout
        guard let frame = event.frame, layout.dataForm == .jsonString, !layout.isKept,
            layout.dataStart <= Self.maximumPrefix,
            [layout.name, layout.channel, layout.user].allSatisfy({ !$0.isPresent || $0.end < layout.dataStart }),
            Int(event.dataEnd) + Self.tail == frame.count
        else { return nil }
        self.layout = layout
        prefix = Array(frame.prefix(Int(layout.dataStart)))
        self.channel = channel
    }

    /// Returns the position of the channel's name in a frame that begins the same way up to it.
    package func channelName(in bytes: [UInt8], _ frame: Range<Int>) -> Range<Int>? {
        let start = frame.lowerBound + Int(layout.channel.start)
        guard layout.channel.isPresent, start < frame.upperBound else { return nil }
        return bytes.withUnsafeBytes { bytes in
            let base = bytes.baseAddress.unsafelyUnwrapped
            guard memcmp(base + frame.lowerBound, prefix, start - frame.lowerBound) == 0,
                let quote = memchr(base + start, Int32(UInt8(ascii: "\"")), frame.upperBound - start)
            else { return nil }
            return start..<UnsafeRawPointer(quote) - base
        }
    }

    /// The number of bytes after the data: a quote and a brace.
    package static let tail = 2

    @inline(__always)
    package func dataStart(_ bytes: UnsafeBufferPointer<UInt8>, _ frame: Range<Int>) -> Int? {
        guard frame.count >= prefix.count + Self.tail,
            memcmp(bytes.baseAddress.unsafelyUnwrapped + frame.lowerBound, prefix, prefix.count) == 0
        else { return nil }
        return frame.lowerBound + prefix.count
    }
}
