extension PusherHTTPClient {
    /// What a server can tell of a channel when asked.
    @nonexhaustive
    public enum ChannelAttribute: String, Hashable, Sendable, CaseIterable {
        /// Users of a presence channel.
        case userCount = "user_count"
        /// Connections on a channel, if the application has this counting enabled. Reverb leaves it out for presence channels.
        case subscriptionCount = "subscription_count"
        /// The event that a cache channel keeps.
        case cache
    }
}

extension Set<PusherHTTPClient.ChannelAttribute> {
    /// The `info` of a request; nil if nothing is asked for.
    var parameter: String? { isEmpty ? nil : map(\.rawValue).sorted().joined(separator: ",") }
}
