import PusherProtocol

/// The channels that a client is subscribed to, or is going to be.
public struct PusherChannels: Sendable {
    private let core: ClientCore

    init(_ core: ClientCore) {
        self.core = core
    }

    /// All of them, by name.
    public var channels: [String: PusherChannel] { core.allChannels }

    /// The channel of this name; nil if it is not subscribed.
    public func find(name: String) -> PusherChannel? { core.channel(named: name) }

    /// The same as ``find(name:)``.
    public func find(_ name: String) -> PusherChannel? { find(name: name) }

    /// The presence channel of this name; nil if it is not subscribed.
    public func findPresence(name: String) -> PusherPresenceChannel? {
        core.channel(named: name) as? PusherPresenceChannel
    }
    /// The same as ``findPresence(name:)``.
    public func findPresence(_ name: String) -> PusherPresenceChannel? { findPresence(name: name) }
}
