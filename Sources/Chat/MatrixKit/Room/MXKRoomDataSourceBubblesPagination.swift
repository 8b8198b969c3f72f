/// Where a room's bubbles are cut beside their senders.
public enum MXKRoomDataSourceBubblesPagination: UInt, Sendable {
    /// Nowhere.
    case none
    /// Between two days, in the formatter's time zone.
    case perDay
}
