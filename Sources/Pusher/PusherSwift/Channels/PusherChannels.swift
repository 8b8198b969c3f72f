import PusherProtocol

/// The channels that a client is subscribed to or will subscribe to.
public struct PusherChannels: Sendable {
    private let core: ClientCore

    init(_ core: ClientCore) {
        self.core = core
    }

    /// All channels, by name.
    public var channels: [String: PusherChannel] { core.allChannels }

    /// Returns the channel of this name; `nil` if it is not subscribed.
    public func find(name: String) -> PusherChannel? { core.channel(named: name) }

    /// Same as ``find(name:)``.
    public func find(_ name: String) -> PusherChannel? { find(name: name) }

    /// Returns the presence channel of this name; `nil` if it is not subscribed.
    public func findPresence(name: String) -> PusherPresenceChannel? {
        core.channel(named: name) as? PusherPresenceChannel
    }
    /// Same as ``findPresence(name:)``.
    public func findPresence(_ name: String) -> PusherPresenceChannel? { findPresence(name: name) }
}
