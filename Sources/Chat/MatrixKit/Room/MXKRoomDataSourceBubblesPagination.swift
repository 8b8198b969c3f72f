/// The boundaries at which a room's bubbles are split, apart from a change of sender.
public enum MXKRoomDataSourceBubblesPagination: UInt, Sendable {
    /// No further boundaries.
    case none
    /// Between two days, in the formatter's time zone.
    case perDay
}
