import Basics

/// Channels without subscriptions: those of sources.
///
/// They have bindings like other channels. Their IDs never equal those of a machine's subscriptions.
struct NamedChannels: Sendable {
    private static let first = -1_000_000

    private var ids: [ByteKey: EventRouter.ChannelID] = [:]
    private var last = Self.first

    /// The channel's ID, if it has bindings.
    subscript(name: String) -> EventRouter.ChannelID? { ids[ByteKey(name)] }

    var names: [String] { ids.keys.map(\.string) }

    mutating func add(_ name: String) -> EventRouter.ChannelID {
        last -= 1
        let id = EventRouter.ChannelID(number: last)
        ids[ByteKey(name)] = id
        return id
    }

    mutating func remove(_ name: String) -> EventRouter.ChannelID? { ids.removeValue(forKey: ByteKey(name)) }
}
