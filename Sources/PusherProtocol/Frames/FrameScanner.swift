import Glibc
package import Realtime

/// The fast way for usual frames: finds where their parts stand, without a look at what they hold.
package enum FrameScanner {
    struct Found {
        var layout = RealtimeEvent.Layout()
        var dataEnd: UInt32 = 0
        var namesHaveEscapes = false
    }

    /// Nil if the frame is unusual, or not a frame at all.
    ///
    /// - Parameter frame: Where in `bytes` it lies.
    static func scan(_ bytes: UnsafeBufferPointer<UInt8>, _ frame: Range<Int>) -> Found? {
        var found = Found()
        var quotes = QuoteWalk(bytes, frame)
        var index = skipSpace(bytes, frame.lowerBound, frame.upperBound)
        guard index < frame.upperBound, bytes[index] == UInt8(ascii: "{") else { return nil }
        while true {
            guard let key = quotes.nextString(at: skipSpace(bytes, index + 1, frame.upperBound)), !key.hasEscapes
            else { return nil }
            index = skipSpace(bytes, key.end + 1, frame.upperBound)
            guard index < frame.upperBound, bytes[index] == UInt8(ascii: ":"),
                let value = quotes.nextString(at: skipSpace(bytes, index + 1, frame.upperBound)),
                note(value, for: key, bytes, from: frame.lowerBound, in: &found)
            else { return nil }
            index = skipSpace(bytes, value.end + 1, frame.upperBound)
            guard index < frame.upperBound else { return nil }
            if bytes[index] == UInt8(ascii: "}") { break }
            guard bytes[index] == UInt8(ascii: ",") else { return nil }
        }
        guard found.layout.name.isPresent, skipSpace(bytes, index + 1, frame.upperBound) == frame.upperBound else {
            return nil
        }
        return found
    }

    /// Whether the frame begins with `head`, and has nothing behind its data.
    package static func isEvent(_ bytes: [UInt8], _ frame: Range<Int>, like head: EventHead) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            guard let start = head.dataStart(bytes, frame), bytes[frame.upperBound - 1] == UInt8(ascii: "}") else {
                return false
            }
            var quotes = QuoteWalk(bytes, start..<frame.upperBound)
            return quotes.nextQuote()?.index == frame.upperBound - EventHead.tail
        }
    }

    /// False if the key came before: which of the two counts is Foundation's to say.
    @inline(__always)
    private static func note(
        _ value: QuoteWalk.JSONText, for key: QuoteWalk.JSONText, _ bytes: UnsafeBufferPointer<UInt8>,
        from start: Int, in found: inout Found
    ) -> Bool {
        func isKey(_ name: StaticString) -> Bool {
            key.end - key.start == name.utf8CodeUnitCount
                && memcmp(bytes.baseAddress.unsafelyUnwrapped + key.start, name.utf8Start, name.utf8CodeUnitCount) == 0
        }
        let isRepeated: Bool
        let (valueStart, valueEnd) = (
            UInt32(truncatingIfNeeded: value.start - start), UInt32(truncatingIfNeeded: value.end - start)
        )
        let span = RealtimeEvent.Span(valueStart, valueEnd)
        if isKey("event") {
            isRepeated = found.layout.name.isPresent
            found.layout.name = span
        } else if isKey("data") {
            isRepeated = found.layout.dataForm != .absent
            found.layout.dataForm = .jsonString
            (found.layout.dataStart, found.dataEnd) = (valueStart, valueEnd)
            return !isRepeated
        } else if isKey("channel") {
            isRepeated = found.layout.channel.isPresent
            found.layout.channel = span
        } else if isKey("user_id") {
            isRepeated = found.layout.user.isPresent
            found.layout.user = span
        } else {
            return true
        }
        if value.hasEscapes { found.namesHaveEscapes = true }
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
