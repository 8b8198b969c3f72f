package import MatrixEncryption

/// A report on the answer to a sync. Reports are delivered in order.
package enum SessionNotice: Sendable {
    /// A new event of a joined room's timeline.
    case live(LiveEvent)
    /// A typing notice or a receipt.
    case ephemeral(MXEvent)
    case roomAccountData(MXEvent)
    case accountData(MXEvent)
    case presence(MXEvent)
    case toDevice(MXToDeviceMessage)
    /// We have joined the room.
    case joined(roomId: String)
    case invited(roomId: String, inviter: String?)
    case knocked(roomId: String)
    /// We have left the room, or the invitation has ended.
    /// - Parameter event: The event that ended it: leaving, a kick or a ban.
    case left(roomId: String, event: MXEvent?)
    /// The server skipped events between the known ones and the next. The room's stored timeline starts over.
    /// - Parameter prevBatch: The token before the gap's end, for ``MXTimelineDirection/backwards``; `nil` if unknown.
    case gap(roomId: String, prevBatch: String? = nil)
    /// A redaction has changed an event.
    case changed(MXEvent)
    /// Events of a room that could not be decrypted can be now, or the reason for the failure is known better.
    case decrypted(roomId: String, [LiveEvent])
    /// A change of keys, devices or trust.
    case encryption(CryptoNotice)
    /// An event's relations have changed: an edit, a reaction.
    case relationsChanged(roomId: String, eventId: String)
    /// A sync has returned one of our own messages.
    case echoConfirmed(roomId: String, localEventId: String, eventId: String)
    case unreadChanged(MXRoomSummary)
    case summaryChanged(roomId: String)
    case directRoomsChanged
    case ignoredUsersChanged
}

/// A live event.
package struct LiveEvent: Sendable {
    package let event: MXEvent
    package let roomId: String
    /// The state just before the event; `nil` if no listener needs it.
    package let state: MXRoomState?
    package let push: PushRules.Decision
}
