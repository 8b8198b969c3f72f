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
        let isUsual = FlatObject.walk(bytes, frame) { key, value in
            note(value, for: key, bytes, from: frame.lowerBound, in: &found)
        }
        return isUsual && found.layout.name.isPresent ? found : nil
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
