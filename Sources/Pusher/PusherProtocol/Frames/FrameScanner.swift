package import Realtime

/// The fast path for usual frames: finds the positions of their parts without reading their content.
package enum FrameScanner {
    struct Found {
        var layout = RealtimeEvent.Layout()
        var dataEnd: UInt32 = 0
        var namesHaveEscapes = false
    }

    /// Returns `nil` if the frame is unusual, or not a frame at all.
    ///
    /// - Parameter frame: The position of the frame in `bytes`.
    static func scan(_ bytes: UnsafeBufferPointer<UInt8>, _ frame: Range<Int>) -> Found? {
        var found = Found()
        let isUsual = FlatObject.walk(bytes, frame) { key, value in
            note(value, for: key, bytes, from: frame.lowerBound, in: &found)
        }
        return isUsual && found.layout.name.isPresent ? found : nil
    }

    /// Returns whether the frame begins with `head` and has nothing after its data.
    package static func isEvent(_ bytes: [UInt8], _ frame: Range<Int>, like head: EventHead) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            guard let start = head.dataStart(bytes, frame), bytes[frame.upperBound - 1] == UInt8(ascii: "}") else {
                return false
            }
            var quotes = QuoteWalk(bytes, start..<frame.upperBound)
            return quotes.nextQuote()?.index == frame.upperBound - EventHead.tail
        }
    }

    /// Returns false for a repeated key: Foundation decides which of the two counts.
    @inline(__always)
    private static func note(
        _ value: QuotedText, for key: QuotedText, _ bytes: UnsafeBufferPointer<UInt8>,
        from start: Int, in found: inout Found
    ) -> Bool {
        let isRepeated: Bool
        let (valueStart, valueEnd) = (
            UInt32(truncatingIfNeeded: value.start - start), UInt32(truncatingIfNeeded: value.end - start)
        )
        let span = RealtimeEvent.Span(valueStart, valueEnd)
        if key.equals("event", in: bytes) {
            isRepeated = found.layout.name.isPresent
            found.layout.name = span
        } else if key.equals("data", in: bytes) {
            isRepeated = found.layout.dataForm != .absent
            found.layout.dataForm = .jsonString
            (found.layout.dataStart, found.dataEnd) = (valueStart, valueEnd)
            return !isRepeated
        } else if key.equals("channel", in: bytes) {
            isRepeated = found.layout.channel.isPresent
            found.layout.channel = span
        } else if key.equals("user_id", in: bytes) {
            isRepeated = found.layout.user.isPresent
            found.layout.user = span
        } else {
            return true
        }
        if value.hasEscapes { found.namesHaveEscapes = true }
        return !isRepeated
    }
}
