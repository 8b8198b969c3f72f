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
    /// - Parameter range: Where in `bytes` the frame lies.
    package static func parse(_ bytes: [UInt8], _ range: Range<Int>) throws(MalformedFrame) -> RealtimeEvent {
        guard let found = bytes.withUnsafeBufferPointer({ FrameScanner.scan($0, range) }) else {
            return try parseGenerally(bytes[range])
        }
        let event = RealtimeEvent(bytes: bytes, range: range, layout: found.layout, dataEnd: found.dataEnd)
        return found.namesHaveEscapes ? event.unescapingNames() : event
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
