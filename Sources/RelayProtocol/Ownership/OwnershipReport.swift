/// What people are told of ownership.
package enum OwnershipReport: Hashable, Sendable {
    /// No heartbeat was acknowledged for too long: everything was given up.
    case lost(slots: Int, silence: Duration)
    /// The record names somebody else.
    case taken(Slot, by: RelayID?)
    /// A relay that was given a slot has not taken it.
    case notTaken(Slot, by: RelayID)
    /// What the bucket has in place of a slot's record is none: nobody takes the slot.
    case unreadable(Slot)
    /// A relay that lives has other units.
    case otherUnits(RelayID)
}
