extension PusherHTTPClient {
    /// What the server told of a channel. Counts are taken apart from delivery and need not match it.
    public struct ChannelInfo: Hashable, Sendable {
        /// Whether anybody is subscribed. Nil where the server does not say: in the answers to publishing.
        public var isOccupied: Bool?
        /// Users of a presence channel, if asked for.
        public var userCount: Int?
        /// Connections on another channel, if asked for.
        public var subscriptionCount: Int?
        /// The event that a cache channel keeps, if asked for; nil also if it keeps none.
        public var cache: CachedEvent?

        init(isOccupied: Bool? = nil, userCount: Int? = nil, subscriptionCount: Int? = nil, cache: CachedEvent? = nil) {
            self.isOccupied = isOccupied
            self.userCount = userCount
            self.subscriptionCount = subscriptionCount
            self.cache = cache
        }
    }

    /// The event that a cache channel gives to new subscribers.
    public struct CachedEvent: Hashable, Sendable, Decodable {
        /// The data as published.
        public let data: String
        /// For how many more seconds it is kept.
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

/// Channels in the answer to a call.
struct ChannelList: Decodable {
    let channels: [String: PusherHTTPClient.ChannelInfo]

    private enum CodingKeys: CodingKey {
        case channels
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // Servers written in PHP give [] for an object without members.
        let isEmptyArray = (try? container.nestedUnkeyedContainer(forKey: .channels).count) == 0
        channels =
            isEmptyArray ? [:] : try container.decode([String: PusherHTTPClient.ChannelInfo].self, forKey: .channels)
    }
}
