/// The text of a frame from the server. Each member that is not a string already is JSON text.
enum ServerFrame {
    static let pong = #"{"event":"pusher:pong","data":{}}"#
    static let ping = #"{"event":"pusher:ping","data":{}}"#

    /// An event whose `data` is JSON text, written as it is.
    static func event(_ name: String, channel: String? = nil, data: String?, userID: String? = nil) -> String {
        JSONText.object([
            "event": JSONText.quoted(name),
            "channel": channel.map(JSONText.quoted),
            "data": data,
            "user_id": userID.map(JSONText.quoted),
        ])
    }

    /// An event whose `data` is a string: a publisher's text, or JSON encoded twice.
    static func event(_ name: String, channel: String? = nil, text: String) -> String {
        event(name, channel: channel, data: JSONText.quoted(text))
    }

    static func connectionEstablished(socketID: String, activityTimeout: Duration) -> String {
        let seconds = activityTimeout / .seconds(1)
        let whole = seconds.rounded() == seconds && abs(seconds) < 1e9
        return event(
            "pusher:connection_established",
            text: JSONText.object([
                "socket_id": JSONText.quoted(socketID),
                "activity_timeout": whole ? "\(Int(seconds))" : "\(seconds)",
            ]))
    }

    static func error(code: Int?, message: String) -> String {
        event(
            "pusher:error",
            data: JSONText.object(["code": code.map { "\($0)" } ?? "null", "message": JSONText.quoted(message)]))
    }

    static func memberAdded(_ member: PresenceMember, channel: String) -> String {
        event(
            "pusher_internal:member_added", channel: channel,
            text: JSONText.object(["user_id": JSONText.quoted(member.userID), "user_info": member.userInfo]))
    }

    static func memberRemoved(userID: String, channel: String) -> String {
        event(
            "pusher_internal:member_removed", channel: channel,
            text: JSONText.object(["user_id": JSONText.quoted(userID)]))
    }
}
