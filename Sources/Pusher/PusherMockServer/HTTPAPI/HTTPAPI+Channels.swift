import Basics
import PusherProtocol

/// `GET channels`, `GET channels/{name}`, and its `users` and `stats`.
extension HTTPAPI {
    func getChannels(_ target: RequestTarget) throws(APIFailure) -> APIResponse {
        let prefix = target.parameter("filter_by_prefix") ?? ""
        let listed = application.listedChannels.filter { $0.name.string.utf8.starts(with: prefix.utf8) }
        let channels: [(String, String)]
        switch application.profile.channelInfo {
        case .asked, .fitting:
            let attributes = try ChannelAttribute.list(target.parameter("info"))
            if application.profile.channelInfo == .asked, attributes.contains(.userCount),
                !prefix.hasPrefix("presence-")
            {
                throw APIFailure(400, "user_count needs a filter_by_prefix that starts with presence-")
            }
            channels = listed.map { ($0.name.string, JSONText.object(info(attributes, of: $0.name))) }
        case .everything:
            channels = listed.map { channel in
                let counts = info([.subscriptionCount], of: channel.name) + [("occupied", "true")]
                return (channel.name.string, JSONText.object(counts))
            }
        }
        return .json(JSONText.object([("channels", JSONText.object(channels))]))
    }

    func getChannel(_ text: String, _ target: RequestTarget) throws(APIFailure) -> APIResponse {
        let name = try Self.channelName(text, as: application.profile)
        let isOccupied = application.channels[name.string] != nil
        guard application.profile.channelInfo != .everything else {
            let counts =
                info([.subscriptionCount], of: name) + [("occupied", "\(isOccupied)")] + info([.userCount], of: name)
            return .json(JSONText.object(counts))
        }
        let attributes = try ChannelAttribute.list(target.parameter("info"))
        if application.profile.channelInfo == .asked,
            let misplaced = attributes.first(where: { !$0.applies(to: name, as: application.profile) })
        {
            throw APIFailure(400, "\(misplaced.rawValue) does not exist on channel \(name)")
        }
        // An unoccupied channel has no counts, but may have a cached event.
        let told = isOccupied ? attributes : attributes.filter { $0 == .cache }
        return .json(JSONText.object([("occupied", "\(isOccupied)")] + info(told, of: name)))
    }

    func getUsers(of text: String) throws(APIFailure) -> APIResponse {
        let name = try Self.channelName(text, as: application.profile)
        guard name.kind == .presence else {
            throw APIFailure(400, "Users can only be retrieved for presence channels")
        }
        let users = (application.channels[name.string]?.userIDs ?? [])
            .map { JSONText.object([("id", JSONText.quoted($0))]) }
        return .json(JSONText.object([("users", JSONText.array(users))]))
    }

    /// Deprecated.
    func getStatistics(of text: String) throws(APIFailure) -> APIResponse {
        let name = try Self.channelName(text, as: application.profile)
        let channel = application.channels[name.string]
        return .json(
            JSONText.object([
                "occupied": "\(channel != nil)",
                "user_count": name.kind == .presence ? "\(channel?.userIDs.count ?? 0)" : nil,
                "connection_count": "\(channel?.subscribers.count ?? 0)",
            ]))
    }
}
