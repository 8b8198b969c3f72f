import Basics
import PusherProtocol

/// An attribute of a channel that a request can ask for with `info`.
enum ChannelAttribute: String {
    case userCount = "user_count"
    case subscriptionCount = "subscription_count"
    case cache

    static func list(_ text: String?) throws(APIFailure) -> [Self] {
        var result: [Self] = []
        for name in (text ?? "").split(separator: ",") {
            guard let attribute = Self(rawValue: String(name)) else {
                throw APIFailure(400, "Unknown info attribute: \(name.prefix(100))")
            }
            result.append(attribute)
        }
        return result
    }

    func applies(to channel: ChannelName, as profile: PusherMockServer.Profile) -> Bool {
        switch self {
        case .userCount: channel.kind == .presence
        case .subscriptionCount: channel.kind != .presence || profile.channelInfo != .fitting
        case .cache: channel.isCached
        }
    }

    /// Returns the attribute as JSON text. Answers omit counts for a channel without subscribers.
    func value(for name: ChannelName, in application: ApplicationState, now: MonotonicInstant) -> String {
        let channel = application.channels[name.string]
        switch self {
        case .userCount: return "\(channel?.userIDs.count ?? 0)"
        case .subscriptionCount: return "\(channel?.subscribers.count ?? 0)"
        case .cache:
            guard let entry = application.cache.entry(of: name.string, now: now) else { return "null" }
            let secondsLeft = ((entry.expiry - now) / .seconds(1)).rounded(.up)
            return JSONText.object(["data": JSONText.quoted(entry.data), "ttl": "\(Int64(secondsLeft))"])
        }
    }
}

extension HTTPAPI {
    /// Returns the attributes that fit the channel, as members of a JSON object.
    func info(_ attributes: [ChannelAttribute], of name: ChannelName) -> [(name: String, value: String)] {
        attributes.filter { $0.applies(to: name, as: application.profile) }
            .map { ($0.rawValue, $0.value(for: name, in: application, now: now)) }
    }
}
