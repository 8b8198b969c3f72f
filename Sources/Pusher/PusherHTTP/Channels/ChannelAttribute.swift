extension PusherHTTPClient {
    /// An attribute of a channel that a server reports on request.
    @nonexhaustive
    public enum ChannelAttribute: String, Hashable, Sendable, CaseIterable {
        /// The number of users on a presence channel.
        case userCount = "user_count"
        /// The number of connections on a channel, if the application has this count enabled. Reverb omits it for
        /// presence channels.
        case subscriptionCount = "subscription_count"
        /// The event that a cache channel stores.
        case cache
    }
}

extension Set<PusherHTTPClient.ChannelAttribute> {
    /// The `info` of a request; `nil` if no attribute is requested.
    var parameter: String? { isEmpty ? nil : map(\.rawValue).sorted().joined(separator: ",") }
}
