/// Summary of the events that relate to another one.
public struct MXEventAggregations: Sendable, Hashable {
    /// The id of the event that the others relate to.
    public let eventId: String
    /// The reactions by key; `nil` if there are none.
    public let reactions: MXDictionary<MXReactionSummary>?
    /// The number of known edits.
    public let editCount: Int
    /// The time of the newest edit, in milliseconds since 1970; `nil` if the event was not edited.
    public let editedTs: UInt64?
}

/// The reactions to an event that have the same key.
public struct MXReactionSummary: Sendable, Hashable {
    /// The key of the reaction. Keys are compared exactly: a variation selector makes a difference.
    public let reaction: String
    /// The number of users who reacted with this key.
    public let count: Int
    /// The time of the first reaction, in milliseconds since 1970.
    public let originServerTs: UInt64
    /// Whether the current user reacted with this key.
    public let containsCurrentUser: Bool
    /// The event to redact to remove our own reaction; `nil` if there is none. A local id while it is being sent.
    public let myUserReactionEventId: String?
    /// The users who reacted, in order of their reactions.
    public let senders: [String]
}
