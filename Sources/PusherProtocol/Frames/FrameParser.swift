import Foundation
package import Realtime

/// A text frame that is not one of the protocol's messages.
package struct MalformedFrame: Error, Hashable, Sendable {
    /// Why, in words that hold nothing of the frame.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// Finds the parts of one frame: `{"event":…, "channel":…, "data":…, "user_id":…}` (Pusher protocol, "Events").
///
/// Nearly every frame is an object of strings, of which only the positions are noted. Whatever is unusual (data that is
/// not a string, escapes in names, numbers as user ids) goes the general way through Foundation's JSON, with the same
/// result.
package enum FrameParser {
    package static func parse(_ frame: ArraySlice<UInt8>) throws(MalformedFrame) -> RealtimeEvent {
        if let event = FrameScanner.scan(frame) { return event }
        return try parseGenerally(frame)
    }

    package static func parseGenerally(_ frame: ArraySlice<UInt8>) throws(MalformedFrame) -> RealtimeEvent {
        // Foundation guesses UTF-16 and UTF-32 from zero bytes; a text frame is UTF-8 and JSON has no bare zeros.
        guard !frame.contains(0),
            let object = try? JSONSerialization.jsonObject(with: Data(frame), options: .fragmentsAllowed)
        else { throw MalformedFrame(reason: "it is not JSON") }
        guard let members = object as? [String: Any] else { throw MalformedFrame(reason: "it is not a JSON object") }
        guard let name = members["event"] as? String else {
            throw MalformedFrame(reason: members["event"] == nil ? "it has no event" : "its event is not a string")
        }
        let channel = members["channel"]
        guard channel == nil || channel is NSNull || channel is String else {
            throw MalformedFrame(reason: "its channel is not a string")
        }
        return RealtimeEvent(
            name: name, channel: channel as? String, data: dataText(members["data"], in: frame),
            userId: JSON.identifier(members["user_id"]))
    }

    /// Strings as they are, anything else as it stands in the frame, so that no digit of a number is lost.
    private static func dataText(_ value: Any?, in frame: ArraySlice<UInt8>) -> String? {
        switch value {
        case nil, is NSNull: nil
        case let text as String: text
        default: JSONSource.member("data", of: frame)
        }
    }
}

/// The fast way for usual frames.
private enum FrameScanner {
    private struct Parts {
        var event = RealtimeEvent.Span.none
        var channel = RealtimeEvent.Span.none
        var data = RealtimeEvent.Span.none
        var user = RealtimeEvent.Span.none
        var namesHaveEscapes = false
    }

    /// Nil if the frame is unusual, or not a frame at all.
    static func scan(_ frame: ArraySlice<UInt8>) -> RealtimeEvent? {
        guard let parts = frame.withUnsafeBufferPointer({ scan($0) }), parts.event.isPresent else { return nil }
        let event = RealtimeEvent(
            bytes: frame, name: parts.event, channel: parts.channel, data: parts.data,
            dataForm: parts.data.isPresent ? .jsonString : .absent, user: parts.user)
        return parts.namesHaveEscapes ? event.unescapingNames() : event
    }

    private static func scan(_ bytes: UnsafeBufferPointer<UInt8>) -> Parts? {
        var parts = Parts()
        var index = skipSpace(bytes, 0)
        guard index < bytes.count, bytes[index] == UInt8(ascii: "{") else { return nil }
        while true {
            guard let key = scanString(bytes, skipSpace(bytes, index + 1)), !key.hasEscapes else { return nil }
            index = skipSpace(bytes, key.end + 1)
            guard index < bytes.count, bytes[index] == UInt8(ascii: ":"),
                let value = scanString(bytes, skipSpace(bytes, index + 1))
            else { return nil }
            guard note(value, for: key, bytes, in: &parts) else { return nil }
            index = skipSpace(bytes, value.end + 1)
            guard index < bytes.count else { return nil }
            if bytes[index] == UInt8(ascii: "}") { break }
            guard bytes[index] == UInt8(ascii: ",") else { return nil }
        }
        return skipSpace(bytes, index + 1) == bytes.count ? parts : nil
    }

    private struct ScannedString {
        /// The first byte after the opening quote.
        let start: Int
        /// The closing quote.
        let end: Int
        let hasEscapes: Bool

        var span: RealtimeEvent.Span { RealtimeEvent.Span(start, end) }
    }

    /// False if the key came before: which of the two counts is Foundation's to say.
    @inline(__always)
    private static func note(
        _ value: ScannedString, for key: ScannedString, _ bytes: UnsafeBufferPointer<UInt8>, in parts: inout Parts
    ) -> Bool {
        func isKey(_ name: StaticString) -> Bool {
            key.end - key.start == name.utf8CodeUnitCount
                && memcmp(bytes.baseAddress.unsafelyUnwrapped + key.start, name.utf8Start, name.utf8CodeUnitCount) == 0
        }
        let isRepeated: Bool
        if isKey("event") {
            isRepeated = parts.event.isPresent
            parts.event = value.span
        } else if isKey("data") {
            isRepeated = parts.data.isPresent
            parts.data = value.span
            return !isRepeated
        } else if isKey("channel") {
            isRepeated = parts.channel.isPresent
            parts.channel = value.span
        } else if isKey("user_id") {
            isRepeated = parts.user.isPresent
            parts.user = value.span
        } else {
            return true
        }
        if value.hasEscapes { parts.namesHaveEscapes = true }
        return !isRepeated
    }

    @inline(__always)
    private static func skipSpace(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return index
            }
        }
        return index
    }

    /// A well-formed JSON string that starts at `start`, or nil. Looks at eight bytes at a time.
    @inline(__always)
    private static func scanString(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> ScannedString? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { return nil }
        let base = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)
        var index = start + 1
        var hasEscapes = false
        while true {
            if index + 8 <= bytes.count {
                let special = specialBytes(base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                if special == 0 {
                    index += 8
                    continue
                }
                index += special.trailingZeroBitCount / 8
            }
            guard index < bytes.count else { return nil }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                return ScannedString(start: start + 1, end: index, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                if index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "\"") {  // by far the most common
                    index += 2
                    continue
                }
                guard let width = JSONString.escapeWidth(bytes, at: index) else { return nil }
                index += width
            case 0..<0x20:
                return nil
            default:
                index += 1
            }
        }
    }

    /// The lowest set bit is in the first byte that is a quote, a backslash or a control character.
    @inline(__always)
    private static func specialBytes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let word = UInt64(littleEndian: word)
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        // A borrow can only raise false alarms above the first true hit, and the lowest is all that is used.
        return (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((word &- ones &* 0x20) & ~word))
            & highs
    }
}
