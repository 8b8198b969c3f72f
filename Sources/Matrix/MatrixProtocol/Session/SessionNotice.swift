package import MatrixEncryption

/// What a session tells of the answer to a sync, in the order in which it is told.
package enum SessionNotice: Sendable {
    /// A new event of a joined room's timeline.
    case live(LiveEvent)
    /// Typing and receipts.
    case ephemeral(MXEvent)
    case roomAccountData(MXEvent)
    case accountData(MXEvent)
    case presence(MXEvent)
    case toDevice(MXToDeviceMessage)
    /// We are in a room in which we were not.
    case joined(roomId: String)
    case invited(roomId: String, inviter: String?)
    case knocked(roomId: String)
    /// We are not in a room any more, or not invited.
    /// - Parameter event: What ended it: our own leaving, a kick or a ban.
    case left(roomId: String, event: MXEvent?)
    /// Events between those that are known and those that come next were left out by the server. The room's stored
    /// timeline begins anew.
    /// - Parameter prevBatch: The token before which they stand, for ``MXTimelineDirection/backwards``; nil if nobody knows.
    case gap(roomId: String, prevBatch: String? = nil)
    /// An event has changed: it was redacted.
    case changed(MXEvent)
    /// Events of a room that could not be read when they came can be read now, or it is known better why not.
    case decrypted(roomId: String, [LiveEvent])
    /// Something about keys, devices or trust.
    case encryption(CryptoNotice)
    /// Something new is known of what others say about an event: an edit, a reaction.
    case relationsChanged(roomId: String, eventId: String)
    /// A message of our own has come back.
    case echoConfirmed(roomId: String, localEventId: String, eventId: String)
    case unreadChanged(MXRoomSummary)
    case summaryChanged(roomId: String)
    case directRoomsChanged
    case ignoredUsersChanged
}

/// An event as it happens.
package struct LiveEvent: Sendable {
    package let event: MXEvent
    package let roomId: String
    /// The state just before the event; nil if nobody asked for it.
    package let state: MXRoomState?
    package let push: PushRules.Decision
}
