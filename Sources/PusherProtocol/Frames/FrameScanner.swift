import Glibc
import Realtime

/// The fast way for usual frames: finds where their parts stand, without a look at what they hold.
enum FrameScanner {
    /// Nil if the frame is unusual, or not a frame at all.
    ///
    /// - Parameter frame: Where in `bytes` it lies.
    static func scan(
        _ bytes: UnsafeBufferPointer<UInt8>, _ frame: Range<Int>
    ) -> (RealtimeEvent.Layout, namesHaveEscapes: Bool)? {
        var layout = RealtimeEvent.Layout()
        var namesHaveEscapes = false
        var quotes = QuoteWalk(bytes, frame)
        var index = skipSpace(bytes, frame.lowerBound, frame.upperBound)
        guard index < frame.upperBound, bytes[index] == UInt8(ascii: "{") else { return nil }
        while true {
            guard let key = quotes.nextString(at: skipSpace(bytes, index + 1, frame.upperBound)), !key.hasEscapes
            else { return nil }
            index = skipSpace(bytes, key.end + 1, frame.upperBound)
            guard index < frame.upperBound, bytes[index] == UInt8(ascii: ":"),
                let value = quotes.nextString(at: skipSpace(bytes, index + 1, frame.upperBound)),
                note(value, for: key, bytes, in: &layout, &namesHaveEscapes)
            else { return nil }
            index = skipSpace(bytes, value.end + 1, frame.upperBound)
            guard index < frame.upperBound else { return nil }
            if bytes[index] == UInt8(ascii: "}") { break }
            guard bytes[index] == UInt8(ascii: ",") else { return nil }
        }
        guard layout.name.isPresent, skipSpace(bytes, index + 1, frame.upperBound) == frame.upperBound else {
            return nil
        }
        layout.frame = RealtimeEvent.Span(frame.lowerBound, frame.upperBound)
        return (layout, namesHaveEscapes)
    }

    /// Where the data of a frame ends that begins with `head` and has nothing behind its data; nil for others.
    static func dataEnd(_ bytes: [UInt8], _ frame: Range<Int>, like head: EventHead) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            guard let start = head.dataStart(bytes, frame) else { return nil }
            var quotes = QuoteWalk(bytes, start..<frame.upperBound)
            guard let end = quotes.nextQuote()?.index, end + 2 == frame.upperBound,
                bytes[end + 1] == UInt8(ascii: "}")
            else { return nil }
            return end
        }
    }

    /// False if the key came before: which of the two counts is Foundation's to say.
    @inline(__always)
    private static func note(
        _ value: QuoteWalk.JSONText, for key: QuoteWalk.JSONText, _ bytes: UnsafeBufferPointer<UInt8>,
        in layout: inout RealtimeEvent.Layout, _ namesHaveEscapes: inout Bool
    ) -> Bool {
        func isKey(_ name: StaticString) -> Bool {
            key.end - key.start == name.utf8CodeUnitCount
                && memcmp(bytes.baseAddress.unsafelyUnwrapped + key.start, name.utf8Start, name.utf8CodeUnitCount) == 0
        }
        let isRepeated: Bool
        let span = RealtimeEvent.Span(value.start, value.end)
        if isKey("event") {
            isRepeated = layout.name.isPresent
            layout.name = span
        } else if isKey("data") {
            isRepeated = layout.payload.isPresent
            layout.payload = span
            layout.dataForm = .jsonString
            return !isRepeated
        } else if isKey("channel") {
            isRepeated = layout.channel.isPresent
            layout.channel = span
        } else if isKey("user_id") {
            isRepeated = layout.user.isPresent
            layout.user = span
        } else {
            return true
        }
        if value.hasEscapes { namesHaveEscapes = true }
        return !isRepeated
    }

    @inline(__always)
    private static func skipSpace(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var index = start
        while index < end, bytes[index] <= 0x20 {  // other control characters were not let through
            index += 1
        }
        return index
    }
}
