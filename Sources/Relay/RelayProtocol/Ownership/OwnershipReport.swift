package enum OwnershipReport: Hashable, Sendable {
    /// No heartbeat was acknowledged for too long, so everything was given up.
    case lost(slots: Int, silence: Duration)
    /// The record or the last fence names another relay.
    case taken(Slot, by: RelayID?)
    /// The servers have lost the record of a held slot. It is written again, unless the stream shows another owner.
    case forgotten(Slot)
    /// A relay did not take a slot that it was given.
    case notTaken(Slot, by: RelayID)
    /// The record of a slot in the bucket is invalid, so no relay takes the slot.
    case unreadable(Slot)
    /// The last fence of a slot has the highest possible term, so no relay takes the slot.
    case termsExhausted(Slot)
    /// A living relay has other units.
    case otherUnits(RelayID)
}
