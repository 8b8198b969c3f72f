import PusherProtocol

/// `GET channels`, `GET channels/{name}` and `GET channels/{name}/users`.
extension HTTPAPI {
    func getChannels(_ target: RequestTarget) throws(APIFailure) -> APIResponse {
        let prefix = target.parameter("filter_by_prefix") ?? ""
        let attributes = try ChannelAttribute.list(target.parameter("info"))
        if attributes.contains(.userCount), !prefix.hasPrefix("presence-") {
            throw APIFailure(400, "user_count needs a filter_by_prefix that starts with presence-")
        }
        let channels = application.channels.values.filter { $0.name.string.hasPrefix(prefix) }
            .sorted { $0.name.string < $1.name.string }
            .map { ($0.name.string, attributes.info(of: $0.name, in: application)) }
        return .json(JSONText.object([("channels", JSONText.object(channels))]))
    }

    func getChannel(_ text: String, _ target: RequestTarget) throws(APIFailure) -> APIResponse {
        let name = try Self.channelName(text)
        let attributes = try ChannelAttribute.list(target.parameter("info"))
        if let misplaced = attributes.first(where: { !$0.applies(to: name) }) {
            throw APIFailure(400, "\(misplaced.rawValue) does not exist on channel \(name)")
        }
        guard let channel = application.channels[name.string] else { return .json(#"{"occupied":false}"#) }
        let counts = attributes.map { ($0.rawValue, "\($0.value(of: channel))") }
        return .json(JSONText.object([("occupied", "true")] + counts))
    }

    func getUsers(of text: String) throws(APIFailure) -> APIResponse {
        let name = try Self.channelName(text)
        guard name.kind == .presence else {
            throw APIFailure(400, "Users can only be retrieved for presence channels")
        }
        let users = (application.channels[name.string]?.userIDs ?? [])
            .map { JSONText.object([("id", JSONText.quoted($0))]) }
        return .json(JSONText.object([("users", JSONText.array(users))]))
    }
}
