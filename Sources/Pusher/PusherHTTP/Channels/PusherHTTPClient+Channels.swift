import PusherProtocol

extension PusherHTTPClient {
    /// The occupied channels, by name.
    ///
    /// - Parameters:
    ///   - prefix: Only the channels whose names start so.
    ///   - info: What to tell of each. Servers tell `userCount` only with a prefix that starts with `presence-`.
    public func channels(
        prefix: String? = nil, info: Set<ChannelAttribute> = []
    ) async throws(PusherHTTPError) -> [String: ChannelInfo] {
        var query: [(name: String, value: String)] = []
        if let prefix, !prefix.isEmpty { query.append(("filter_by_prefix", prefix)) }
        if let info = info.parameter { query.append(("info", info)) }
        return try await get("channels", query: query, as: ChannelList.self).channels.mapValues { info in
            var info = info
            info.isOccupied = true  // the others are not listed
            return info
        }
    }

    /// What the server knows of a channel, occupied or not.
    public func channel(
        _ channel: String, info: Set<ChannelAttribute> = []
    ) async throws(PusherHTTPError) -> ChannelInfo {
        let name = try ArgumentRules.channelName(channel)
        return try await get(
            "channels/\(try ArgumentRules.segment(name.string))", query: info.parameter.map { [("info", $0)] } ?? [],
            as: ChannelInfo.self)
    }
}
