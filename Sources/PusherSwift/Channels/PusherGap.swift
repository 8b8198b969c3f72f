public import Foundation

/// A time in which a channel was not subscribed, so that events may have been missed.
public struct PusherGap: Sendable, Hashable {
    /// The channel's name.
    public let channelName: String
    /// When something was heard last on the connection that broke.
    public let start: Date
    /// When the channel was subscribed again.
    public let end: Date
}
