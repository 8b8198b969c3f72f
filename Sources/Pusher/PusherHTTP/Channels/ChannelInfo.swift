extension PusherHTTPClient {
    /// Attributes of a channel as the server reported them. Counts are independent of delivery and may not match it.
    public struct ChannelInfo: Hashable, Sendable {
        /// Whether the channel has subscribers. `nil` in answers to publishing, where the server does not report it.
        public var isOccupied: Bool?
        /// The number of users on a presence channel, if requested.
        public var userCount: Int?
        /// The number of connections on another channel, if requested.
        public var subscriptionCount: Int?
        /// The event that a cache channel stores, if requested; also `nil` if it stores none.
        public var cache: CachedEvent?

        init(isOccupied: Bool? = nil, userCount: Int? = nil, subscriptionCount: Int? = nil, cache: CachedEvent? = nil) {
            self.isOccupied = isOccupied
            self.userCount = userCount
            self.subscriptionCount = subscriptionCount
            self.cache = cache
        }
    }

    /// The event that a cache channel sends to new subscribers.
    public struct CachedEvent: Hashable, Sendable, Decodable {
        /// The data as published.
        public let data: String
        /// The number of seconds for which the server still keeps it.
        public let ttl: Int?
    }
}

extension PusherHTTPClient.ChannelInfo: Decodable {
    private enum CodingKeys: String, CodingKey {
        case isOccupied = "occupied"
        case userCount = "user_count"
        case subscriptionCount = "subscription_count"
        case cache
    }
}

/// The channels in the answer to a call.
struct ChannelList: Decodable {
    let channels: [String: PusherHTTPClient.ChannelInfo]

    private enum CodingKeys: CodingKey {
        case channels
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // Servers written in PHP encode an object without members as [].
        let isEmptyArray = (try? container.nestedUnkeyedContainer(forKey: .channels).count) == 0
        channels =
            isEmptyArray ? [:] : try container.decode([String: PusherHTTPClient.ChannelInfo].self, forKey: .channels)
    }
}
