/// What people are told of ownership.
package enum OwnershipReport: Hashable, Sendable {
    /// No heartbeat was acknowledged for too long: everything was given up.
    case lost(slots: Int, silence: Duration)
    /// The record, or the last fence, names somebody else.
    case taken(Slot, by: RelayID?)
    /// The servers have lost the record of a slot in hand: it is written again, unless the stream tells of another owner.
    case forgotten(Slot)
    /// A relay that was given a slot has not taken it.
    case notTaken(Slot, by: RelayID)
    /// What the bucket has in place of a slot's record is none: nobody takes the slot.
    case unreadable(Slot)
    /// The last fence of a slot has the highest term that there is: nobody takes the slot.
    case termsExhausted(Slot)
    /// A relay that lives has other units.
    case otherUnits(RelayID)
}
