import PusherProtocol

extension PusherHTTPClient {
    /// Returns the occupied channels, by name.
    ///
    /// - Parameters:
    ///   - prefix: Only list channels whose names start with this prefix.
    ///   - info: The attributes to report for each channel. Servers report `userCount` only if the prefix starts with
    ///     `presence-`.
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

    /// Returns the attributes of a channel, occupied or not.
    public func channel(
        _ channel: String, info: Set<ChannelAttribute> = []
    ) async throws(PusherHTTPError) -> ChannelInfo {
        let name = try ArgumentRules.channelName(channel)
        return try await get(
            "channels/\(try ArgumentRules.segment(name.string))", query: info.parameter.map { [("info", $0)] } ?? [],
            as: ChannelInfo.self)
    }
}
