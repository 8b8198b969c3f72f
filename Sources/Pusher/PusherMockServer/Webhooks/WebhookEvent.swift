import Basics

/// An event reported to an application's own server. Pusher protocol, "Webhooks".
enum WebhookEvent: Hashable {
    case channelOccupied(String)
    case channelVacated(String)
    case memberAdded(channel: String, userID: ByteKey)
    case memberRemoved(channel: String, userID: ByteKey)
    case clientEvent(channel: String, event: String, data: String?, socketID: String, userID: String?)
    case cacheMiss(String)
    case subscriptionCount(channel: String, count: Int)

    /// One element of a webhook's `events`.
    var json: String {
        switch self {
        case .channelOccupied(let channel): object("channel_occupied", channel)
        case .channelVacated(let channel): object("channel_vacated", channel)
        case .memberAdded(let channel, let userID):
            object("member_added", channel, [("user_id", JSONText.quoted(userID.string))])
        case .memberRemoved(let channel, let userID):
            object("member_removed", channel, [("user_id", JSONText.quoted(userID.string))])
        case .clientEvent(let channel, let event, let data, let socketID, let userID):
            object(
                "client_event", channel,
                [("event", event), ("data", data), ("socket_id", socketID), ("user_id", userID)]
                    .compactMap { name, text in text.map { (name, JSONText.quoted($0)) } })
        case .cacheMiss(let channel): object("cache_miss", channel)
        case .subscriptionCount(let channel, let count):
            object("subscription_count", channel, [("subscription_count", "\(count)")])
        }
    }

    private func object(_ name: String, _ channel: String, _ members: [(name: String, value: String)] = []) -> String {
        JSONText.object([("name", JSONText.quoted(name)), ("channel", JSONText.quoted(channel))] + members)
    }
}
