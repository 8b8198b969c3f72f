import PusherProtocol

/// Writes the frames of a server. Members other than strings are passed as JSON text.
struct FrameWriter {
    let profile: PusherMockServer.Profile

    static func withoutData(_ frame: String) -> String {
        guard let object = JSONObject(frame) else { return frame }
        return JSONText.object([
            "event": object.text("event"), "channel": object.text("channel"), "user_id": object.text("user_id"),
        ])
    }

    /// Returns an event whose `data` is JSON text, written unchanged.
    func event(_ name: String, channel: String? = nil, data: String?, userID: String? = nil) -> String {
        let text = JSONText.object([
            "event": JSONText.quoted(name),
            "channel": channel.map(JSONText.quoted),
            "data": data,
            "user_id": userID.map(JSONText.quoted),
        ])
        return profile.encodesLikePHP ? JSONText.escapedLikePHP(text) : text
    }

    /// Returns an event whose `data` is a string: a publisher's text, or JSON encoded twice.
    func event(_ name: String, channel: String? = nil, text: String) -> String {
        event(name, channel: channel, data: JSONText.quoted(text))
    }

    // MARK: Connection

    var ping: String { event("pusher:ping", data: profile.pingData) }
    var pong: String { event("pusher:pong", data: profile.pingData) }

    func connectionEstablished(socketID: String, activityTimeout: Duration) -> String {
        let seconds = activityTimeout / .seconds(1)
        let whole = seconds.rounded() == seconds && abs(seconds) < 1e9
        return event(
            "pusher:connection_established",
            text: JSONText.object([
                "socket_id": JSONText.quoted(socketID),
                "activity_timeout": whole ? "\(Int(seconds))" : "\(seconds)",
            ]))
    }

    /// - Parameter channel: the affected channel, named only if the profile does so.
    func error(code: Int?, message: String, channel: String? = nil) -> String {
        let data = JSONText.object(["code": code.map { "\($0)" } ?? "null", "message": JSONText.quoted(message)])
        let channel = profile.namesChannelInErrors ? channel : nil
        switch profile.errorData {
        case .object: return event("pusher:error", channel: channel, data: data)
        case .text: return event("pusher:error", channel: channel, text: data)
        }
    }

    // MARK: Channels

    func subscriptionSucceeded(_ channel: ChannelState) -> String {
        let name = "pusher_internal:subscription_succeeded"
        if channel.name.kind == .presence {
            return event(name, channel: channel.name.string, text: presence(channel.members))
        }
        return event(name, channel: channel.name.string, data: profile.succeededData.map(JSONText.quoted))
    }

    private func presence(_ members: [ChannelState.Member]) -> String {
        let hash = members.map { ($0.userID, userInfo($0.userInfo) ?? "null") }
        let presence = JSONText.object([
            "ids": JSONText.array(members.map { JSONText.quoted($0.userID) }),
            "hash": profile.encodesLikePHP ? JSONText.objectLikePHP(hash) : JSONText.object(hash),
            "count": "\(members.count)",
        ])
        return JSONText.object(["presence": presence])
    }

    func subscriptionError(_ refusal: SubscriptionRefusal, channel: String) -> String {
        let (type, status) = refusal.reason.typeAndStatus
        return event(
            "pusher:subscription_error", channel: channel,
            data: JSONText.object([
                "type": JSONText.quoted(type), "error": JSONText.quoted(refusal.message), "status": "\(status)",
            ]))
    }

    func memberAdded(_ member: PresenceMember, channel: String) -> String {
        event(
            "pusher_internal:member_added", channel: channel,
            text: JSONText.object(["user_id": JSONText.quoted(member.userID), "user_info": userInfo(member.userInfo)]))
    }

    func memberRemoved(userID: String, channel: String) -> String {
        event(
            "pusher_internal:member_removed", channel: channel,
            text: JSONText.object(["user_id": JSONText.quoted(userID)]))
    }

    func subscriptionCount(_ count: Int, channel: String) -> String {
        event("pusher_internal:subscription_count", channel: channel, text: #"{"subscription_count":\#(count)}"#)
    }

    func cacheMiss(channel: String) -> String {
        event("pusher:cache_miss", channel: channel, data: nil)
    }

    /// Returns the user info. PHP decodes an empty object to an empty list.
    private func userInfo(_ json: String?) -> String? {
        guard profile.encodesLikePHP, let json, JSONObject(json)?.isEmpty == true else { return json }
        return "[]"
    }

    // MARK: Users

    func signInSucceeded(userData: String) -> String {
        let data = JSONText.object(["user_data": JSONText.quoted(userData)])
        switch profile.signInSuccessData {
        case .object: return event("pusher:signin_success", data: data)
        case .text: return event("pusher:signin_success", text: data)
        }
    }

    /// Returns the watchlist frame, without empty lists.
    func watchlist(online: [String], offline: [String]) -> String {
        let events = [("online", online), ("offline", offline)].filter { !$0.1.isEmpty }.map { name, users in
            JSONText.object([
                "name": JSONText.quoted(name), "user_ids": JSONText.array(users.map(JSONText.quoted)),
            ])
        }
        return event("pusher_internal:watchlist_events", text: JSONText.object(["events": JSONText.array(events)]))
    }
}
