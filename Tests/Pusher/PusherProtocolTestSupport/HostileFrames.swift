import JSONBytes
import TestSupport

/// Every Pusher server message with a text that the client may log, report or pass on for printing.
package enum HostileFrames {
    /// A channel that the server rejects.
    package static let refusedChannel = "presence-refused"

    /// - Parameter text: The text to put into each of them.
    package static func all(_ text: String, channel: String = "presence-room") -> [String] {
        all(HostileText.json(text), text, channel) + all(HostileText.jsonWithHalfPair(text), text, channel)
    }

    private static func all(_ hostile: String, _ text: String, _ channel: String) -> [String] {
        func frame(_ event: String, _ data: String? = nil, more: String = "") -> String {
            #"{"event":\#(event)\#(data.map { #","data":\#($0)"# } ?? "")\#(more)}"#
        }
        func internalFrame(_ event: String, _ data: String) -> String {
            frame(#""\#(event)""#, JSONString.quoted(data), more: #","channel":"\#(channel)""#)
        }
        return [
            frame(#""pusher:error""#, #"{"message":\#(hostile)}"#),
            frame(#""pusher:error""#, #"{"message":\#(hostile),"code":4301,"channel":\#(hostile)}"#),
            frame(#""pusher:error""#, #"{"message":"m","code":\#(hostile)}"#),
            frame(#""pusher:error""#, hostile),
            internalFrame(
                "pusher_internal:subscription_succeeded",
                #"{"presence":{"count":1,"ids":[\#(hostile)],"hash":{\#(hostile):{"name":\#(hostile)}}}}"#),
            internalFrame("pusher_internal:member_added", #"{"user_id":\#(hostile),"user_info":{"a":\#(hostile)}}"#),
            internalFrame("pusher_internal:member_added", #"{"user_id":{"no":\#(hostile)}}"#),
            internalFrame("pusher_internal:member_removed", #"{"user_id":\#(hostile)}"#),
            internalFrame("pusher_internal:subscription_count", #"{"subscription_count":\#(hostile)}"#),
            frame(
                #""pusher:subscription_error""#, #"{"type":\#(hostile),"error":\#(hostile),"status":\#(hostile)}"#,
                more: #","channel":"\#(refusedChannel)""#),
            internalFrame("pusher_internal:something", #"{"x":\#(hostile)}"#),
            frame(#""e""#, hostile, more: #","channel":"\#(channel)","user_id":\#(hostile)"#),
            frame(hostile, hostile, more: #","channel":"\#(channel)""#),
            frame(hostile, hostile), frame(#""e""#, #""d""#, more: #","channel":\#(hostile)"#),
            frame(JSONString.quoted("pusher:" + text), hostile),
            frame(JSONString.quoted("pusher_internal:" + text), hostile),
            frame(
                #""pusher_internal:watchlist_events""#, #"{"events":[{"name":\#(hostile),"user_ids":[\#(hostile)]}]}"#),
            frame(
                #""pusher_internal:watchlist_events""#, #"{"events":[{"name":"online","user_ids":[\#(hostile)]}]}"#),
            frame(#""pusher:connection_established""#, #"{"socket_id":\#(hostile)}"#),
            frame(#""e""#, #"{"a":\#(hostile)}"#, more: #","channel":"private-encrypted-x""#),
            "not JSON: " + text, hostile,
        ]
    }
}
