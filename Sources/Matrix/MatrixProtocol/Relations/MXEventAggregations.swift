/// What other events say about one.
public struct MXEventAggregations: Sendable, Hashable {
    /// The event that it is about.
    public let eventId: String
    /// By what was reacted with; nil without reactions.
    public let reactions: MXDictionary<MXReactionSummary>?
    /// How often it was edited, as far as the edits were seen.
    public let editCount: Int
    /// Milliseconds since 1970 of the newest edit; nil if it was not edited.
    public let editedTs: UInt64?
}

/// All reactions to an event with the same key.
public struct MXReactionSummary: Sendable, Hashable {
    /// What was reacted with. Compared exactly: with and without a variation selector are two.
    public let reaction: String
    /// How many users reacted so.
    public let count: Int
    /// Milliseconds since 1970 of the first one.
    public let originServerTs: UInt64
    /// Whether the current user did.
    public let containsCurrentUser: Bool
    /// What to redact to take the own reaction back; nil without one. A local id while it is on its way.
    public let myUserReactionEventId: String?
    /// Who did, first ones first.
    public let senders: [String]
}
