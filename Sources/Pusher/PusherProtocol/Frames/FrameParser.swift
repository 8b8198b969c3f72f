import JSONBytes
package import Realtime

/// A text frame that is not a message of the protocol.
package struct MalformedFrame: Error, Hashable, Sendable {
    /// The reason, without any text of the frame.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// Parses one frame: `{"event":…, "channel":…, "data":…, "user_id":…}` (Pusher protocol, "Events").
///
/// Nearly every frame is an object of strings, of which the parser only records the positions. Unusual frames (data
/// that is not a string, escapes in names, numbers as user ids) take the general path, with the same result.
package enum FrameParser {
    /// - Parameter range: The position of the frame in `bytes`.
    package static func parse(_ bytes: [UInt8], _ range: Range<Int>) throws(MalformedFrame) -> RealtimeEvent {
        guard let found = bytes.withUnsafeBufferPointer({ FrameScanner.scan($0, range) }) else {
            return try parseGenerally(bytes[range])
        }
        let event = RealtimeEvent(bytes: bytes, range: range, layout: found.layout, dataEnd: found.dataEnd)
        return found.namesHaveEscapes ? event.unescapingNames() : event
    }

    package static func parseGenerally(_ frame: ArraySlice<UInt8>) throws(MalformedFrame) -> RealtimeEvent {
        let bytes = Array(frame)
        guard JSONView.isJSON(bytes), let object = JSONView(bytes) else {
            throw MalformedFrame(reason: "it is not JSON")
        }
        guard object.isObject else { throw MalformedFrame(reason: "it is not a JSON object") }
        guard let name = object["event"]?.string else {
            throw MalformedFrame(reason: object["event"] == nil ? "it has no event" : "its event is not a string")
        }
        let channel = object["channel"].flatMap { $0.isNull ? nil : $0 }
        guard channel == nil || channel?.string != nil else {
            throw MalformedFrame(reason: "its channel is not a string")
        }
        return RealtimeEvent(
            name: name, channel: channel?.string, data: dataText(object["data"]),
            userId: JSON.identifier(object["user_id"]))
    }

    /// Returns strings unchanged and anything else as its text in the frame, so that numbers lose no digits.
    private static func dataText(_ value: JSONView?) -> String? {
        guard let value, !value.isNull else { return nil }
        return value.string ?? value.compactText
    }
}
